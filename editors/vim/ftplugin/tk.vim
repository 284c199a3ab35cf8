" Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
" SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1
setlocal comments=:///,:// commentstring=//\ %s expandtab shiftwidth=2 softtabstop=2 textwidth=120
" :make checks the file, and gq formats it.
setlocal makeprg=tkc\ --emit=tile\ -o\ /dev/null\ % errorformat=%f:%l:%c:\ %trror:\ %m,%f:%l:%c:\ %tote:\ %m,%-G%.%#

" Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
" SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
" Vim itself takes *.tk for Tcl.
autocmd BufRead,BufNewFile *.tk,*.tks set filetype=tk

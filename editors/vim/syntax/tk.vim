" Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
" SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
if exists('b:current_syntax')
  finish
endif

syntax keyword tkDeclaration kernel program fn import extern reference case bench schedule gradient
syntax keyword tkKeyword parallel for in if then else return where when cost tune let var
syntax keyword tkModifier const out inout new
syntax keyword tkOperatorWord and or not
syntax keyword tkType f64 f32 tf32 f16 bf16 f8e4m3 f8e5m2 f8e8m0 f6e2m3 f6e3m2 f4e2m1 i64 i32 i8 u8 i4 u4
syntax keyword tkType bool
syntax keyword tkFunction min max abs exp exp2 log log2 sqrt rsqrt rcp tanh sin cos erf sigmoid
syntax keyword tkFunction floor sum prod tiles ceildiv cumsum zeros full iota scaled philox grad
syntax keyword tkFunction rowsum rowmax rowmin rowprod rowmean rowargmax rowargmin colsum colmax
syntax keyword tkFunction colmin colprod colmean colargmax colargmin
syntax keyword tkConstant true false none inf PI LOG2E LN2

syntax match tkNumber /\<\(0x\x\+\|\d\+\(\.\d\+\)\?\([eE][-+]\?\d\+\)\?\)\>/
syntax region tkString start=/"/ end=/"/ oneline
syntax match tkComment /\/\/.*$/ contains=tkTodo,@Spell
syntax match tkDoc /\/\/\/.*$/ contains=tkTodo,@Spell
syntax keyword tkTodo TODO FIXME contained

highlight default link tkDeclaration Keyword
highlight default link tkKeyword Statement
highlight default link tkModifier StorageClass
highlight default link tkOperatorWord Operator
highlight default link tkType Type
highlight default link tkFunction Function
highlight default link tkConstant Constant
highlight default link tkNumber Number
highlight default link tkString String
highlight default link tkComment Comment
highlight default link tkDoc SpecialComment
highlight default link tkTodo Todo

let b:current_syntax = 'tk'

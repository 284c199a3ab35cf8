;;; tk-mode.el --- Colours and indentation for tkc's kernels  -*- lexical-binding: t; -*-

;; Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
;; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

;;; Commentary:

;; (add-to-list 'load-path "…/editors/emacs")
;; (require 'tk-mode)

;;; Code:

(defconst tk-mode-keywords
  '("kernel" "program" "fn" "import" "extern" "reference" "case" "bench" "schedule"
    "gradient" "parallel" "for" "in" "if" "then" "else" "return" "where" "when" "cost" "tune"
    "let" "var" "const" "out" "inout" "new" "and" "or" "not"))

(defconst tk-mode-types
  '("f64" "f32" "tf32" "f16" "bf16" "f8e4m3" "f8e5m2" "f8e8m0" "f6e2m3" "f6e3m2" "f4e2m1"
    "i64" "i32" "i8" "u8" "i4" "u4" "bool"))

(defconst tk-mode-functions
  '("min" "max" "abs" "exp" "exp2" "log" "log2" "sqrt" "rsqrt" "rcp" "tanh" "sin" "cos"
    "erf" "sigmoid" "floor" "sum" "prod" "where" "tiles" "ceildiv" "cumsum" "zeros" "full"
    "iota" "scaled" "philox" "grad" "rowsum" "rowmax" "rowmin" "rowprod" "rowmean"
    "rowargmax" "rowargmin" "colsum" "colmax" "colmin" "colprod" "colmean" "colargmax"
    "colargmin"))

(defconst tk-mode-constants
  '("true" "false" "none" "inf" "PI" "LOG2E" "LN2"))

(defconst tk-mode-font-lock
  `(("\\<\\(?:kernel\\|program\\|fn\\|reference\\|case\\|bench\\|schedule\\|gradient\\)\\s-+\\(\\w+\\)"
     1 font-lock-function-name-face)
    (,(regexp-opt tk-mode-types 'words) . font-lock-type-face)
    (,(concat (regexp-opt tk-mode-functions 'words) "\\s-*(") 1 font-lock-builtin-face)
    (,(regexp-opt tk-mode-keywords 'words) . font-lock-keyword-face)
    (,(regexp-opt tk-mode-constants 'words) . font-lock-constant-face)))

(defvar tk-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?/ ". 12" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?_ "w" table)
    (modify-syntax-entry ?\" "\"" table)
    table))

(defun tk-mode-indent-line ()
  "Indent by two columns for each bracket that is open; `tkc fmt' does the rest."
  (interactive)
  (let* ((depth (save-excursion (beginning-of-line) (car (syntax-ppss))))
         (closes (save-excursion (back-to-indentation) (looking-at-p "[])}]"))))
    (save-excursion (indent-line-to (* 2 (max 0 (if closes (1- depth) depth)))))
    (when (< (current-column) (current-indentation))
      (back-to-indentation))))

;;;###autoload
(define-derived-mode tk-mode prog-mode "tk"
  "For the kernels of tkc."
  (setq-local comment-start "// ")
  (setq-local comment-end "")
  (setq-local indent-line-function #'tk-mode-indent-line)
  (setq-local indent-tabs-mode nil)
  (setq-local font-lock-defaults '(tk-mode-font-lock)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.tks?\\'" . tk-mode))

(provide 'tk-mode)
;;; tk-mode.el ends here

# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Continues prompts with a model of Llama's kind that is there as Hugging Face keeps it: config.json, safetensors, tokenizer.

    python3 demos/llama/generate.py FOLDER "The capital of France is" --count 50
"""

import argparse

import torch

from llama import Llama


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="of the model")
    parser.add_argument("prompts", nargs="+")
    parser.add_argument("--count", type=int, default=50, help="tokens to add")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(options.folder)
    model = Llama.read(options.folder, options.device)
    prompts = [tokenizer(one)["input_ids"] for one in options.prompts]
    for prompt, found in zip(options.prompts, model.generate(prompts, options.count)):
        print(prompt + tokenizer.decode(found, skip_special_tokens=True))


if __name__ == "__main__":
    main()

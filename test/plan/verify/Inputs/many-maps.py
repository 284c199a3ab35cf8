"""many-maps.py COUNT: a plan with so many tensor maps."""
import sys

maps = "\n".join(f"  map m{i} = a box 8x8 dims 0, 1 swizzle none -> x" for i in range(int(sys.argv[1])))
print(f"""plan @many for sm_90a {{}} (a: bf16[M, K]) {{
  threads 128 cluster 1 shared 128
{maps}
  buffer x: bf16[8x8] swizzle none stages 1 offset 0
}}""")

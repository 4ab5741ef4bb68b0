"""Write a bench's picture as a JPEG, so that it is small enough for the documentation.

.venv/bin/python docs/reduce_picture.py out/examples.png docs/pictures/clips-anonymised.jpg
"""

import sys

from PIL import Image

with Image.open(sys.argv[1]) as picture:
    picture.convert("RGB").save(sys.argv[2], quality=88, subsampling=0, optimize=True)

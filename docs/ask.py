"""What an exported model says of images, by ONNX Runtime, Pillow and NumPy alone: python ask.py birds.onnx who.jpg"""

import json
import sys

import numpy as np
import onnxruntime
from PIL import Image, ImageOps


def prepare(path, how):
    """The bytes (S, S, 3) that the graph takes, by the steps that its metadata tell."""
    image, size, by = Image.open(path), how["image_size"], Image.Resampling[how["interpolation"].upper()]
    whole = image.size
    smaller = [how["resize"] * side // min(whole) for side in whole]
    drafted = image.draft(None, [2 * side for side in smaller])
    if image.size != whole:  # a large JPEG, of which only a half, a quarter or an eighth is decoded
        image = (image if image.mode == "L" else image.convert("RGB")).resize(smaller, by, drafted[1])
    image = ImageOps.exif_transpose(image)
    if image.mode[0] in "IF":  # more than 8 bits of grey
        values = np.asarray(image, np.float64)
        top = 65535 if image.mode[0] == "I" else max(values.max(), 1)
        image = Image.fromarray(np.uint8(np.clip(np.rint(values * (255 / top)), 0, 255)))
    if image.has_transparency_data:
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
    image = image.convert("RGB")
    image = image.resize([how["resize"] * side // min(image.size) for side in image.size], by)
    left, top = (round((side - size) / 2) for side in image.size)
    return np.asarray(image.crop((left, top, left + size, top + size)))


if __name__ == "__main__":
    session = onnxruntime.InferenceSession(sys.argv[1])
    labels, how = (json.loads(session.get_modelmeta().custom_metadata_map[key]) for key in ("labels", "preprocessing"))
    if how["crop_mode"] != "center":
        sys.exit(f"this example cuts the centre out; for this model: {'; '.join(how['steps'])}")
    for path in sys.argv[2:]:
        (likely,) = session.run(["probabilities"], {"image": prepare(path, how)[None]})[0]
        print(path, labels[likely.argmax()], f"{likely.max():.4f}", sep="\t")

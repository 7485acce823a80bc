"""GPUs that are not there: the stand-in for NVIDIA's library, and its script (tests/lib/nvml/stand_in.h)."""

import os

from lib.programs import BUILD

LIBRARY = BUILD / "tests/lib/libnvidia-ml.so.1"


class Gpus:
    def __init__(self, folder, text="gpus 2\n", name="gpus"):
        self.path = folder / name
        self.options = ["--gpu-library", LIBRARY]
        self.environment = {"SYNOP_NVML_SCRIPT": str(self.path)}
        self.say(text)

    def say(self, text):
        """The script from now on."""
        fresh = self.path.with_suffix(".new")
        fresh.write_text(text)
        os.replace(fresh, self.path)

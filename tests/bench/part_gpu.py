"""The GPU groups with eight GPUs of a stand-in library whose calls cost nothing (bench_gpu.c)."""

from lib.gpus import LIBRARY, Gpus
from measure import number, run_tool, say

AIM = 1000  # us
LINKS = "".join(f"field * {field} 1000\n" for field in (38, 45, 52, 59, 82, 138, 139, 161, 162, 163))


def gpu(figures, cluster):
    """Eight GPUs with 18 links and 4 processes each."""
    text = "gpus 8\nvalue * links 18\n" + LINKS
    text += "".join(f"process {i} {1000 + 10 * i + k} 1000000\n" for i in range(8) for k in range(4))
    stand_in = Gpus(cluster.folder, text)
    said = run_tool("bench_gpu", LIBRARY, 300, env=stand_in.environment)
    assert said["gpus"] == 8, said
    figures.add("a sample of 8 GPUs", said["sample_us"], "us", "the aim", AIM, ("ratio", 1))
    say("      " + ", ".join(f"{name} {number(cost)}" for name, cost in said["groups"].items()))

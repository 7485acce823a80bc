"""Work of a known kind on the first NVIDIA GPU, through the driver's API alone: gpu_load.py tensor|fp32|copy SECONDS

`tensor` multiplies matrices on the tensor cores, `fp32` does so much else on the multiprocessors, and neither touches
memory; `copy` does nothing but move memory within the GPU. It prints "ready" when the GPU works. The driver compiles the
kernels, which are written in its own assembly language (PTX) of compute capability 8.0, so nothing has to be installed.
"""

import ctypes
import sys
import time

MULTIPROCESSORS = 16  # the number of that attribute of a device
THREADS, LOOPS = 256, 1 << 16
COPIED = 512 << 20

HEAD = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry work (.param .u64 out, .param .u32 loops)
{
  .reg .u64 %out, %at;
  .reg .u32 %loops, %i, %place, %threads, %block;
  .reg .pred %more;
  .reg .b32 %a<4>, %b<2>;
  .reg .f32 %c<32>;
  ld.param.u64 %out, [out];
  ld.param.u32 %loops, [loops];
"""
TAIL = """
  add.u32 %i, %i, 1;
  setp.lt.u32 %more, %i, %loops;
  @%more bra AGAIN;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %place, %tid.x;
  mad.lo.u32 %place, %block, %threads, %place;
  mul.wide.u32 %at, %place, 4;
  add.u64 %at, %out, %at;
  st.global.f32 [%at], %c0;
  ret;
}
"""


def begin(registers):
    """Numbers that are not known before it runs, so that nothing is worked out in advance."""
    lines = ["mov.u32 %i, 0;"]
    lines += [f"cvt.rn.f32.u32 %c{at}, %loops;" for at in range(registers)]
    return lines


def all_to_first(registers):
    return [f"add.f32 %c0, %c0, %c{at};" for at in range(1, registers)]


def kernel(first, again, registers):
    """What is made again and again may depend on no other that is under way, so that the units are kept busy."""
    body = [*begin(registers), *first, "AGAIN:", *again]
    head, tail = HEAD + "\n".join(f"  {line}" for line in body), TAIL
    return head + tail.replace("  mov.u32 %block", "\n".join(f"  {line}" for line in all_to_first(registers)) +
                               "\n  mov.u32 %block")


def tensor_kernel():
    """16 x 8 x 16 of half precision, summed up in single precision: eight at a time."""
    first = [f"mov.b32 %a{at}, 0x2c002c00;" for at in range(4)] + [f"mov.b32 %b{at}, 0x2c002c00;" for at in range(2)]
    again = []
    for at in range(0, 32, 4):
        sums = "{" + ", ".join(f"%c{at + i}" for i in range(4)) + "}"
        again.append("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     f"{sums}, {{%a0, %a1, %a2, %a3}}, {{%b0, %b1}}, {sums};")
    return kernel(first, again, 32)


def fp32_kernel():
    return kernel([], [f"fma.rn.f32 %c{at}, %c{at}, 0f3F000000, 0f3F800000;" for at in range(32)] * 4, 32)


class Gpu:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, self.context, count = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuCtxCreate_v2", ctypes.byref(self.context), 0, device)
        self.call("cuDeviceGetAttribute", ctypes.byref(count), MULTIPROCESSORS, device)
        self.blocks = 4 * count.value

    def call(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code:
            raise OSError(f"{name} says {code}")

    def allocate(self, size):
        memory = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(size))
        return memory

    def load(self, text):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), text.encode())
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"work")
        return function

    def kernel_work(self, text):
        function, out = self.load(text), self.allocate(4 * self.blocks * THREADS)
        values = [out, ctypes.c_uint32(LOOPS)]
        arguments = (ctypes.c_void_p * 2)(*(ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values))

        def work():
            self.call("cuLaunchKernel", function, self.blocks, 1, 1, THREADS, 1, 1, 0, None, arguments, None)
        work.held = values
        return work

    def copy_work(self):
        source, target = self.allocate(COPIED), self.allocate(COPIED)
        return lambda: self.call("cuMemcpyDtoD_v2", target, source, ctypes.c_size_t(COPIED))

    def do(self, work, seconds):
        work()
        self.call("cuCtxSynchronize")
        print("ready", flush=True)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(4):
                work()
            self.call("cuCtxSynchronize")


def main():
    kind, seconds = sys.argv[1], float(sys.argv[2])
    gpu = Gpu()
    works = {"tensor": lambda: gpu.kernel_work(tensor_kernel()), "fp32": lambda: gpu.kernel_work(fp32_kernel()),
             "copy": gpu.copy_work}
    gpu.do(works[kind](), seconds)


if __name__ == "__main__":
    main()

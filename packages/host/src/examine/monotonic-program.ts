/** Python, run in a guest with the number of processes and of seconds: `{"reads", "back"}` says how often the monotonic clock was read, and how
 *  often it was behind a value that had been read before. */
export const MONOTONIC_PROGRAM = `
import ctypes, json, mmap, multiprocessing, sys, time
readers, seconds = int(sys.argv[1]), float(sys.argv[2])
last = ctypes.c_uint64.from_buffer(mmap.mmap(-1, 4096))
def read(results):
    reads = back = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(100):
            before = last.value
            now = time.monotonic_ns()
            back += now < before
            last.value = now
            reads += 1
    results.put((reads, back))
results = multiprocessing.Queue()
processes = [multiprocessing.Process(target=read, args=(results,)) for _ in range(readers)]
for process in processes: process.start()
counted = [results.get() for _ in processes]
for process in processes: process.join()
print(json.dumps({"reads": sum(r for r, _ in counted), "back": sum(b for _, b in counted)}))
`.trim();

import { setFlagsFromString } from 'node:v8';

// V8 lets the heap grow to several times what lives in it (35 MB here) before it collects garbage: 260 MB resident under
// load, 350 at times. Three tenths more than what lives are enough; with two, 4 MB less, larger heaps were collected so
// often that answers took a third longer. What V8 reads only at its birth is in the start script of package.json:
// half-spaces for new objects of 4 MB instead of 16 (with 8, 10 MB more, renting takes a twentieth less), and two
// background threads instead of four, each of which keeps the memory of the largest function it optimized.
setFlagsFromString('--heap-growing-percent=30');
// V8 puts objects of code whose objects lived long at once among the old ones. Here these are results of the database,
// which then keep what hangs on them until the next full collection: a quarter of what was allocated, copied twice.
setFlagsFromString('--no-allocation-site-pretenuring');
// V8 forgets the shape of objects of which it finds none alive in three full collections. Should that be what
// `process.nextTick` queues, and the queue is mostly empty, then its compiled code is slow from then on: 0.6 µs a tick
// instead of 0.07, several ticks a request. Ready answers took a third longer.
setFlagsFromString('--retain-maps-for-n-gc=1000000');

import type { Row } from './matrix.ts'

const crash = 'test/crash/crash.pg.test.ts'
const signals = 'test/crash/signals.pg.test.ts'
const restart = 'test/crash/postgres-restart.pg.test.ts'
const fourWorkers = 'test/faults/full/four-workers.test.ts'
const twoHosts = 'test/faults/full/two-hosts.test.ts'
const worker = 'test/faults/worker.pg.test.ts'
const line = 'test/faults/source-line.pg.test.ts'
const postgres = 'test/faults/postgres.pg.test.ts'
const clock = 'test/faults/clock.pg.test.ts'
const transport = 'test/api/sources/http.transport.test.ts'
const prove = 'test/sync/prove.test.ts'
const scheduler = 'test/app/scheduler/scheduler.pg.test.ts'
const slots = 'test/app/scheduler/slots.test.ts'

/** Faults on our side: processes, hosts, Postgres, connections, clocks, disks, deployments. */
export const machineFaults: Readonly<Record<number, Row>> = {
  1: {
    fault: 'SIGKILL at every point of a slice',
    holds: 'nothing lost, nothing duplicated; continued within 15 s if there is another worker',
    tests: [
      [crash, 'a first sync that is killed at … ends as if nothing had happened'],
      [crash, 'a night of changes that is killed again and again ends as if nothing had happened'],
      [crash, 'a backfill that is killed again and again goes on where it was'],
      ['test/crash/crash-points.test.ts', 'the list of crash points is exactly that of the code'],
      [signals, 'a run right after a SIGKILL takes the work over at once'],
      [
        'test/faults/full/chaos.test.ts',
        'four workers and a scheduler, killed at random at a hostile source and a full disk, end with the data of the source (seed %i)',
      ],
      [
        fourWorkers,
        'four workers of … rooftops, one killed, one frozen and thawed, Postgres crashed: all data, nothing duplicated',
      ],
    ],
  },
  2: {
    fault: 'SIGSTOP, and SIGCONT after its work is taken over',
    holds: 'its late commits are refused',
    tests: [
      [signals, 'a frozen run whose work was taken over writes nothing and logs this'],
      [
        fourWorkers,
        'four workers of … rooftops, one killed, one frozen and thawed, Postgres crashed: all data, nothing duplicated',
      ],
    ],
  },
  3: {
    fault: 'Postgres restarts or crashes in the middle',
    holds: 'the process survives, nothing lost, nothing duplicated',
    tests: [
      [restart, 'a sync continues after Postgres was down'],
      [
        'test/faults/full/postgres-crash.test.ts',
        'a sync continues after Postgres crashed and restarted, and commits nothing twice',
      ],
      [
        fourWorkers,
        'four workers of … rooftops, one killed, one frozen and thawed, Postgres crashed: all data, nothing duplicated',
      ],
    ],
  },
  4: {
    fault: 'failover to a standby',
    holds: 'synchronous: nothing lost, nothing duplicated',
    tests: [
      [
        'test/faults/full/failover.test.ts',
        'after a primary dies the workers continue on its synchronous standby, nothing lost, nothing duplicated',
      ],
    ],
    without:
      'an asynchronous standby may lack the last commits, run and queue alike: the next night lists them again, as after a restore; no test shows it',
  },
  5: {
    fault: 'a session is ended within a transaction',
    holds: 'it is rolled back, the process continues',
    tests: [
      [
        postgres,
        'a session that the server ends within a transaction rolls it back, and the run goes on and ends well',
      ],
      [restart, 'a sync continues after the server has ended all its connections'],
      [scheduler, 'a scheduler continues after all its connections were cut'],
      [
        'test/warehouse/db/connect.pg.test.ts',
        'a backend killed while idle or while in use does not kill the process',
      ],
    ],
  },
  6: {
    fault: 'a host is cut off; a connection is half open',
    holds: 'the others take over within 15 s',
    tests: [
      [
        twoHosts,
        'when one of two hosts is cut off, the other takes over within 15 s, and the first writes nothing late',
      ],
      [twoHosts, 'a worker that loses Postgres is taken over within 15 s, and writes nothing late'],
      [
        line,
        'a source whose line … fails the night, and no partial record is stored; the next night loads them all',
      ],
    ],
  },
  7: {
    fault: 'connection reset or refused, a slow loris, a truncated body',
    holds: 'a bounded deadline, a repeat, no partial row',
    tests: [
      [
        line,
        'a source whose line … fails the night, and no partial record is stored; the next night loads them all',
      ],
      [line, 'a short network fault costs a repeat and no record'],
      [transport, 'a slow-loris body meets the total deadline, and its socket is destroyed'],
      [transport, 'headers that never come meet the deadline too'],
      [transport, 'an answer that ends before its length is repeated'],
    ],
  },
  15: {
    fault: 'clocks 90 s off or set back; daylight saving, leap days, the ends of years and months',
    holds: "the source's clock decides for windows, Postgres's for slots",
    tests: [
      [clock, 'a sync whose clock is … s off loads what any other loads'],
      [
        clock,
        'a sync whose clock jumps back by three minutes in the middle goes on as if nothing had happened',
      ],
      [slots, 'a night in the hour that Sydney skips runs once, when the clocks go forward'],
      [slots, 'a night in the hour that occurs twice in Sydney runs once, the first time'],
      [slots, 'a leap day is found, also across the year 2100, which has none'],
      [
        slots,
        'the last second of the year and the first minute of the next are slots of their zone',
      ],
      ['test/api/sources/source-clock.test.ts', 'three days of skew are known to a second'],
    ],
  },
  16: {
    fault: 'two runs of a slot, two schedulers, none alive at the slot',
    holds: 'one effective run; a missed slot is run once',
    tests: [
      [
        'test/app/scheduler/three-schedulers.pg.test.ts',
        'three schedulers, one killed and one 90 s ahead: each of … slots is run once',
      ],
      [
        scheduler,
        'of the missed nights only the newest is run, once, at start, by one of two schedulers',
      ],
      [
        scheduler,
        'a job run whose process ended is taken over; the earlier attempt can record nothing',
      ],
    ],
  },
  22: {
    fault: 'a disk is full',
    holds: 'the transaction is rolled back, and work continues when there is space',
    tests: [
      [
        'test/faults/full/disk-full.test.ts',
        'a full disk fails the slices that need it, and the next sync with free space loads everything',
      ],
      [
        'test/app/commands/links-archive.pg.test.ts',
        'a disk that takes no more ends the run with a sentence, and what was archived stays',
      ],
    ],
  },
  23: {
    fault: 'little memory; a list of 100,000 items',
    holds: 'bounded memory',
    tests: [
      [
        'test/faults/full/little-memory.test.ts',
        'a list of 5,000 evaluations is read by a process with little memory',
      ],
      [
        'test/memory/memory.pg.test.ts',
        'the peak memory of a backfill does not grow with its length',
      ],
      [
        'test/memory/csv.test.ts',
        'reading and typing a stock list takes no more memory the longer it is',
      ],
      [prove, 'a window with more items than a part may hold is halved into parts that fit'],
    ],
    without:
      'a single window of 100,000 evaluations: a slice reads the whole of a window, so its memory is bounded by windowHours alone',
  },
  24: {
    fault: 'a migration during a run; old and new workers side by side',
    holds: 'an old worker commits nothing to a newer warehouse, and returns its work',
    tests: [
      [
        worker,
        'a worker of the previous schema commits nothing to a newer warehouse, returns its work and ends',
      ],
      [
        'test/warehouse/db/migrate.pg.test.ts',
        'a warehouse with a migration that this code does not know is refused',
      ],
      [
        'test/warehouse/db/migrate.pg.test.ts',
        'eight runners at once apply each file exactly once',
      ],
    ],
  },
  25: {
    fault: 'SIGTERM by a deploy',
    holds: 'the work is ended or returned within 30 s, nothing duplicated',
    tests: [
      [worker, 'a stopped worker returns its work, and another one does it'],
      [signals, '… ends a sync with … after a clean checkpoint, and the next one continues'],
      [
        'test/app/commands/schedule.pg.test.ts',
        '… ends the scheduler with …: no new job run, and the job at a clean checkpoint',
      ],
    ],
  },
}

import type { Row } from './matrix.ts'

const crash = 'test/crash/crash.pg.test.ts'
const answers = 'test/faults/hostile-answers.pg.test.ts'
const transport = 'test/sources/http.transport.test.ts'
const retries = 'test/sources/http.retries.test.ts'
const rate = 'test/rate/faults.pg.test.ts'
const isolation = 'test/pipeline/isolation.pg.test.ts'
const deceptive = 'test/pipeline/deceptive-source.pg.test.ts'
const relist = 'test/pipeline/relist.pg.test.ts'
const prove = 'test/pipeline/prove.test.ts'
const lists = 'test/sources/appraisal/client.lists.test.ts'
const batch = 'test/pipeline/batch.pg.test.ts'
const pdf = 'test/archive/fetch-pdf.test.ts'
const hints = 'test/webhook/hints.pg.test.ts'
const receiver = 'test/webhook/receiver.pg.test.ts'
const csv = 'test/csv/read'

/** What the source, a dealer or a stranger sends. */
export const sourceFaults: Readonly<Record<number, Row>> = {
  8: {
    fault: '429 with and without Retry-After, in storms and stray, and a hard limit',
    holds:
      'a refused key rests on all hosts, its rate is cut and recovers within seconds, no storm of repeats; a stray one delays its own call alone',
    tests: [
      [rate, 'a 429 with Retry-After %s holds back every host until then'],
      [
        rate,
        'a storm of 429 on two hosts is no storm of repeats, and cuts the rate a few times at most',
      ],
      [rate, 'a 429 without Retry-After is waited out by every host, and the night lands'],
      [
        'test/sources/http.rulings.test.ts',
        'Retry-After as %s is waited for, by every call of a key that is refused',
      ],
      ['test/sources/http.rulings.test.ts', 'a stray 429 holds up its own call alone'],
      [
        'test/faults/full/rate-law.test.ts',
        'a share of %d of stray 429s leaves at least %d of the throughput',
      ],
      [
        'test/faults/full/rate-law.test.ts',
        'a hard limit is found, used and kept, and left behind once it is lifted',
      ],
    ],
  },
  9: {
    fault: 'bursts of 500, 502, 503, 504; 408',
    holds: 'full jitter, bounded repeats, then it goes on',
    tests: [
      [retries, 'status %i is given up with errorAction retry after the retries'],
      ['test/values/backoff.test.ts', 'the jitter is full: it reaches both ends'],
      [
        isolation,
        'a source that is down is a failure of the slice, not a quarantine full of records',
      ],
      [
        'test/pipeline/enrichment.pg.test.ts',
        'a source that answers nothing is left alone after a few tries',
      ],
      [
        'test/pipeline/completeness.pg.test.ts',
        'after a quiet time the warehouse equals the source, in … random worlds',
      ],
    ],
  },
  10: {
    fault: 'a page with status 200, an empty body, a BOM, a bomb, a body without end',
    holds: 'a typed error, a cap, nothing stored',
    tests: [
      [transport, 'a page, an empty body and a plain text with status 200 are repeated like a 5xx'],
      [transport, 'an answer beyond the cap is cut off, whether its length is told or not'],
      [transport, 'the cap counts decoded bytes: a compression bomb does not unfold'],
      [transport, 'compressed answers are read, and the byte order mark is stripped'],
      [isolation, 'a list that is a web page fails its rooftop alone'],
    ],
  },
  11: {
    fault: 'truncated or wrong JSON, NaN, doubled keys, deep nesting, lone surrogates, U+0000',
    holds: 'put aside with its reason; what Postgres cannot hold is replaced',
    tests: [
      [answers, 'answers … are put aside with their reasons, and no other record suffers'],
      [deceptive, 'a body with \\\\u0000 and lone surrogates can be read through raw.payload_json'],
      [
        'test/sources/appraisal/client.evaluation.test.ts',
        'a body that stays cut off (%s) is skipped, and its text kept for quarantine',
      ],
    ],
  },
  12: {
    fault: 'ids twice in a list, in any order; a list that changes while it is read',
    holds: 'one row each, no gap',
    tests: [
      [
        answers,
        'a list that names its evaluations twice, in another order every time, loads each once',
      ],
      [lists, 'list items: ids once, integer strings accepted, items without an id reported'],
      [prove, 'whatever the cap and its order, all ids are found and the parts tile the window'],
      [prove, 'a window that changes under our hands teaches no cap'],
    ],
  },
  13: {
    fault: 'the seconds at the edges of windows; empty, dense and one-second windows',
    holds: 'bounds are exclusive at the source, so windows overlap by a second there',
    tests: [
      [lists, 'both bounds of the list are exclusive: from − 1 and until'],
      [lists, 'adjoining windows list every second once'],
      ['test/pipeline/due.test.ts', 'halves meet, lose nothing, and end at the single second'],
      [prove, 'a single second that does not fit under the cap is unprovable, and nothing else is'],
    ],
  },
  14: {
    fault: 'completed late, edited after completion, handed over, vanished',
    holds: 'found within the stated nights, with its history',
    tests: [
      [relist, 'a late completion in an old window is found within the stated number of nights'],
      [
        relist,
        'an edit that the list does not tell is found within 28 nights and a turn of its window',
      ],
      [isolation, 'a vanished evaluation is marked, not deleted, and is no failure'],
      [isolation, 'an evaluation that comes back loses its mark'],
      [
        'test/pipeline/group.pg.test.ts',
        'an evaluation that the source hands to another rooftop moves there with its payloads',
      ],
    ],
  },
  17: {
    fault: 'a rooftop is forbidden; a key is withdrawn or replaced in the middle',
    holds: 'that rooftop alone fails; a dead key rests',
    tests: [
      [
        isolation,
        'a rooftop that answers 403 stops nothing else, is named, and lands when it heals',
      ],
      [
        rate,
        'a key that is withdrawn is not tried with every rooftop, and works again after a restart',
      ],
      [
        'test/sources/refusals.test.ts',
        'a key that is refused for every rooftop rests after ten of them, at that operation alone',
      ],
      [
        'test/scheduler/alerts.pg.test.ts',
        'a job that fails is told once, however often it fails, and once more when it is well again',
      ],
    ],
  },
  18: {
    fault: 'a record that does not fit',
    holds: 'put aside, counted, the rest lands; a retry brings it in',
    tests: [
      [
        isolation,
        'a poisoned record goes to quarantine with its payload and issue, and lands when it heals',
      ],
      [crash, 'a retry of quarantined records that is killed again and again loads them once'],
      [
        'test/commands/quarantine.pg.test.ts',
        'quarantine lists, shows and retries what did not fit',
      ],
    ],
  },
  19: {
    fault: 'a new field, another type, a field that is gone, a value that nobody knows',
    holds: 'what is new is kept and told, what breaks is put aside',
    tests: [
      [
        answers,
        'a field that nobody knows is kept and told, and one of another type puts the record aside',
      ],
      [
        'test/pipeline/drift.test.ts',
        'the items of a list are documented when the list is, and only then',
      ],
      [
        deceptive,
        'a list whose items have no readable id fails, marks nothing as gone and certifies nothing',
      ],
      [
        'test/streams/vehicle-checks/answers.pg.test.ts',
        'a status that the document does not name is kept, flagged, and stops nothing',
      ],
    ],
  },
  20: {
    fault: 'a price batch that never ends, goes back, loses or doubles results, is submitted twice',
    holds: 'recorded before it is sent; polled, not sent again; a deadline',
    tests: [
      [
        batch,
        'a batch that stands still is given up after ten minutes, and its vehicles are due in the next run',
      ],
      [
        batch,
        'results that are missing, told twice or not known are each reported, and only what matches lands',
      ],
      [batch, 'a batch whose answer is … … is not sent again that day, and the others go on'],
      [
        'test/pipeline/batch-crash.pg.test.ts',
        'a kill at any other point of a batch loses nothing and sends nothing twice',
      ],
    ],
  },
  21: {
    fault: 'a link that expired, another host, a redirect, a page instead of a PDF',
    holds: 'signed anew, then one more try; a page is never stored',
    tests: [
      [pdf, 'what the store of links answers instead of a PDF is refused'],
      [
        'test/archive/fetch-pdf-hosts.test.ts',
        'a redirect to a private address, by number or by name, is refused and not followed',
      ],
      [
        'test/commands/links-archive.pg.test.ts',
        'a link that died is asked again once when it was signed anew meanwhile',
      ],
      [
        'test/links/pdf-links.pg.test.ts',
        'a %s link that expired while nobody looked opens on the first click, and the warehouse keeps the new one',
      ],
    ],
  },
  26: {
    fault: 'a stock list with a BOM, odd line ends and quotes, 1 GB, a wrong header, half of it',
    holds: 'taken whole or not at all',
    tests: [
      [
        `${csv}/round-trip.test.ts`,
        'a table in any dialect, encoding and quirk is read exactly: 10,000 cases',
      ],
      [
        `${csv}/damaged-rows.test.ts`,
        'a file that is cut within a quoted cell has an issue on its last record',
      ],
      [
        'test/stock/import-bad-input.pg.test.ts',
        'the complete rows of a cut file can be imported as a delta',
      ],
      ['test/stock/import-rules.pg.test.ts', 'a stopped import changes nothing'],
      [
        'test/memory/csv.test.ts',
        'reading and typing a stock list takes no more memory the longer it is',
      ],
    ],
    without: 'no file of 1 GB is read: memory that does not grow with the length shows the same',
  },
  27: {
    fault: 'a webhook twice, out of order, before the list, forged, huge, slow',
    holds: 'each delivery counts once, and the evaluation is read again',
    tests: [
      [hints, 'a thousand deliveries, doubled and shuffled, make one version of each change'],
      [
        hints,
        'a late completion is in the warehouse before any sync, and what is certified stays proved',
      ],
      [receiver, 'a forged call is refused before its body is read'],
      [receiver, 'a flood of forged calls is cut off, and a true one among them is taken'],
      [receiver, 'a sender that is too slow is cut off and leaves nothing behind'],
    ],
  },
}

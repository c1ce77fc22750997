import type { Row } from './matrix.ts'

const crash = 'test/crash/crash.pg.test.ts'
const answers = 'test/faults/hostile-answers.pg.test.ts'
const transport = 'test/api/sources/http.transport.test.ts'
const retries = 'test/api/sources/http.retries.test.ts'
const rate = 'test/api/rate/faults.pg.test.ts'
const isolation = 'test/sync/isolation.pg.test.ts'
const deceptive = 'test/sync/deceptive-source.pg.test.ts'
const relist = 'test/sync/relist.pg.test.ts'
const prove = 'test/sync/prove.test.ts'
const lists = 'test/api/sources/appraisal/client.lists.test.ts'
const batch = 'test/streams/stock-prices/batch.pg.test.ts'
const pdf = 'test/web/archive/fetch-pdf.test.ts'
const hints = 'test/web/webhook/hints.pg.test.ts'
const receiver = 'test/web/webhook/receiver.pg.test.ts'
const csv = 'test/stock/csv/read'

/** Faults in what the source, a dealer or a third party sends. */
export const sourceFaults: Readonly<Record<number, Row>> = {
  8: {
    fault: '429 with and without Retry-After, many or single, and a hard limit',
    holds:
      'all hosts rest the key at once and go on more slowly, few repeats; a limit is used and refuses few calls; random 429s delay only their calls',
    tests: [
      [rate, 'a 429 with Retry-After %s makes every host wait until then'],
      [rate, 'many 429s on two hosts cause few repeats, and lower the rate a few times at most'],
      [rate, 'every host waits after a 429 without Retry-After, and the night is loaded'],
      [
        'test/api/sources/http.status-actions.test.ts',
        'every refused call of a key waits for a Retry-After given as %s',
      ],
      [
        'test/api/rate/rate-law.test.ts',
        '$kind of $perSecond calls a second for $processes processes: used, and few are refused',
      ],
      [
        'test/faults/full/rate-law.test.ts',
        'with %i processes a share of %d of random 429s does not slow the key down',
      ],
      [
        'test/faults/full/rate-law.test.ts',
        'with %i processes a hard limit refuses few calls, is used, and no call is sent within a Retry-After',
      ],
      [
        'test/faults/full/rate-law.test.ts',
        'a hard limit is found and used, and no longer applied once it is lifted',
      ],
    ],
  },
  9: {
    fault: 'bursts of 500, 502, 503, 504; 408',
    holds: 'full jitter, bounded repeats, then work continues',
    tests: [
      [retries, 'status %i ends with the action retry after the retries'],
      ['test/api/sources/backoff.test.ts', 'the jitter is full: it reaches both ends'],
      [isolation, 'a source that is down fails the slice and quarantines no records'],
      [
        'test/sync/enrichment.pg.test.ts',
        'a source without any answer gets no more requests after a few tries',
      ],
      [
        'test/sync/completeness.pg.test.ts',
        'after a quiet time the warehouse equals the source, in … random worlds',
      ],
    ],
  },
  10: {
    fault: 'a page with status 200, an empty body, a BOM, a bomb, a body without end',
    holds: 'a typed error, a cap, nothing stored',
    tests: [
      [transport, 'a page, an empty body and a plain text with status 200 are repeated like a 5xx'],
      [transport, 'an answer beyond the cap is cut off, whether it names its length or not'],
      [transport, 'the cap counts decoded bytes: a compression bomb is not decompressed'],
      [transport, 'compressed answers are read, and the byte order mark is stripped'],
      [isolation, 'a list that is a web page fails its rooftop alone'],
    ],
  },
  11: {
    fault: 'truncated or wrong JSON, NaN, doubled keys, deep nesting, lone surrogates, U+0000',
    holds: 'quarantined with its reason; what Postgres cannot store is replaced',
    tests: [
      [answers, 'answers … are quarantined with their reasons, and no other record is affected'],
      [deceptive, 'a body with \\\\u0000 and lone surrogates can be read through raw.payload_json'],
      [
        'test/api/sources/appraisal/client.evaluation.test.ts',
        'a body that stays cut off (%s) is skipped, and its text goes to quarantine',
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
      [prove, 'a window that changes during the proof shows no cap'],
    ],
  },
  13: {
    fault: 'the seconds at the edges of windows; empty, dense and one-second windows',
    holds: 'bounds are exclusive at the source, so windows overlap by a second there',
    tests: [
      [lists, 'both bounds of the list are exclusive: from − 1 and until'],
      [lists, 'adjoining windows list every second once'],
      ['test/values/window.test.ts', 'halves meet, lose nothing, and end at the single second'],
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
        'an edit that the list does not show is found within 28 nights plus one rotation of its window',
      ],
      [isolation, 'a vanished evaluation is marked, not deleted, and is not a failure'],
      [isolation, 'an evaluation that comes back loses its mark'],
      [
        'test/sync/group.pg.test.ts',
        'an evaluation that the source moves to another rooftop moves there with its payloads',
      ],
    ],
  },
  17: {
    fault: 'a rooftop is forbidden; a key is withdrawn or replaced in the middle',
    holds: 'only that rooftop fails; a refused key is paused',
    tests: [
      [
        isolation,
        'a rooftop that answers 403 stops nothing else, is named, and is loaded once it answers again',
      ],
      [rate, 'a withdrawn key is not tried with every rooftop, and works again after a restart'],
      [
        'test/api/sources/circuit-breaker.test.ts',
        'a key that is refused for ten rooftops is not used for a while, for that operation alone',
      ],
      [
        'test/app/scheduler/alerts.pg.test.ts',
        'a failing job is reported once, however often it fails, and once more when it succeeds again',
      ],
    ],
  },
  18: {
    fault: 'a record that does not fit',
    holds: 'quarantined and counted, the rest is loaded; a retry loads it',
    tests: [
      [
        isolation,
        'an invalid record is quarantined with its payload and issue, and loaded once it is valid',
      ],
      [crash, 'a retry of quarantined records that is killed again and again loads them once'],
      [
        'test/app/commands/quarantine.pg.test.ts',
        'quarantine lists, shows and retries what did not fit',
      ],
    ],
  },
  19: {
    fault: 'a new field, another type, a missing field, an unknown value',
    holds: 'new fields are stored and reported, invalid records are quarantined',
    tests: [
      [
        answers,
        'an unknown field is stored and reported, and a field of another type quarantines the record',
      ],
      [
        'test/sync/drift.test.ts',
        'the items of a list are documented when the list is, and only then',
      ],
      [
        deceptive,
        'a list whose items have no readable id fails, marks nothing as gone and certifies nothing',
      ],
      [
        'test/streams/vehicle-checks/answers.pg.test.ts',
        'a status that the document does not name is stored with a warning, and stops nothing',
      ],
    ],
  },
  20: {
    fault:
      'a price batch that never ends, goes back, loses or duplicates results, is submitted twice',
    holds: 'recorded before it is sent; polled, not sent again; a deadline',
    tests: [
      [
        batch,
        'a batch without progress is ended after ten minutes, and its vehicles are due in the next run',
      ],
      [
        batch,
        'missing, duplicate and unknown results are each reported, and only matching ones are loaded',
      ],
      [batch, 'a batch whose answer is … … is not sent again that day, and the others continue'],
      [
        'test/streams/stock-prices/batch-crash.pg.test.ts',
        'a kill at any other point of a batch loses nothing and sends nothing twice',
      ],
    ],
  },
  21: {
    fault: 'a link that expired, another host, a redirect, a page instead of a PDF',
    holds: 'signed again, then one more try; a page is never stored',
    tests: [
      [pdf, 'an answer that is not a PDF is refused'],
      [
        'test/web/archive/fetch-pdf-hosts.test.ts',
        'a redirect to a private address, by number or by name, is refused and not followed',
      ],
      [
        'test/app/commands/links-archive.pg.test.ts',
        'a link that died is fetched once more when it was signed again meanwhile',
      ],
      [
        'test/web/links/pdf-links.pg.test.ts',
        'a %s link that has expired opens on the first click, and the warehouse stores the new one',
      ],
    ],
  },
  26: {
    fault: 'a stock list with a BOM, odd line ends and quotes, 1 GB, a wrong header, half of it',
    holds: 'imported completely or not at all',
    tests: [
      [`${csv}/round-trip.test.ts`, 'a table in any dialect, encoding and quirk is read exactly'],
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
      [hints, 'many deliveries, doubled and shuffled, make one version of each change'],
      [
        hints,
        'a late completion is in the warehouse before any sync, and what is certified stays proved',
      ],
      [receiver, 'a forged call is refused before its body is read'],
      [receiver, 'a flood of forged calls is cut off, and a genuine one among them is accepted'],
      [receiver, 'a sender that is too slow is cut off and leaves nothing behind'],
    ],
  },
}

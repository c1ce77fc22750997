import { expect, test } from 'vitest'
import { listSecrets, loadConfig, makeConfig } from '#src/app/config/read.ts'
import { configOf, oneRooftop, problemsOf, withVariables } from './config-support.ts'

test('an empty file, a file of comments and no file give the defaults', () => {
  const { file: _, ...defaults } = makeConfig({}, '/srv')

  expect(configOf('')).toMatchObject(defaults)
  expect(configOf('# nothing yet\n')).toMatchObject(defaults)
  expect(loadConfig(undefined, withVariables())).toEqual({ ...defaults, file: null })
})

test('a section of comments, and a null, give the default', () => {
  const text =
    'wire:\n  # appraisal: {}\nsync:\n  windowHours: ~\n  start: null\nrooftops: ~\nkeys:\n'

  const { sync, rooftops } = configOf(text)

  expect(sync).toEqual(configOf('').sync)
  expect(rooftops).toEqual([])
})

test('a null for a required setting is an error', () => {
  const text = 'keys:\n  a: ~\nrooftops:\n  - ~\n'

  expect(problemsOf(text)).toEqual([
    'forecourt.yaml:2: keys.a must be a group of settings, name: value.',
    'forecourt.yaml:4: rooftops[0] must be a group of settings, name: value.',
  ])
})

test.for([
  ['- a\n- b\n', 'forecourt.yaml:1: the file must be a group of settings, name: value.'],
  ['hello\n', 'forecourt.yaml:1: the file must be a group of settings, name: value.'],
  ['a: 1\n---\nb: 2\n', /^forecourt.yaml:\d: is not valid YAML \(.*\): correct the line\.$/],
  ['sync: [1\n', /^forecourt.yaml:\d: is not valid YAML \(.*\): correct the line\.$/],
  [
    'sync: *there\n',
    /^forecourt.yaml:1: is not valid YAML \(Unresolved alias.*\): correct the line\.$/,
  ],
  ['a: "x" secret-word\n', /^(?!.*secret-word)forecourt.yaml:1: is not valid YAML/],
] as const)('%j is reported', ([text, expected]) => {
  expect(problemsOf(text)).toEqual([
    typeof expected === 'string' ? expected : expect.stringMatching(expected),
  ])
})

test('a key that is set twice is reported with its line', () => {
  expect(problemsOf('sync: {}\nhttp: {}\nsync: {}\nhttp: {}\n')).toEqual([
    'forecourt.yaml:3: sync is set twice in the same group: keep one of the two.',
    'forecourt.yaml:4: http is set twice in the same group: keep one of the two.',
  ])
})

test('unknown settings suggest the nearest one, at any depth', () => {
  const text = `synk: {}
http: { concurency: 3 }
${oneRooftop.replace('timezone', 'timeZone')}wire:
  appraisal:
    evaluation:
      Make: make
  vehicleData: { priceBatch: { poll: { prcentComplete: x, zzz: y } } }
`

  const problems = problemsOf(text).map((line) => line.replace('forecourt.yaml:', ''))

  expect(problems.join('\n')).toMatchInlineSnapshot(`
    "1: synk is not a setting (did you mean sync?): correct its name or remove it.
    2: http.concurency is not a setting (did you mean concurrency?): correct its name or remove it.
    6: rooftops[0].timezone is missing: add it.
    9: rooftops[0].timeZone is not a setting (did you mean timezone?): correct its name or remove it.
    14: wire.appraisal.evaluation.Make is not a setting (did you mean make?): correct its name or remove it.
    15: wire.vehicleData.priceBatch.poll.prcentComplete is not a setting (did you mean percentComplete?): correct its name or remove it.
    15: wire.vehicleData.priceBatch.poll.zzz is not a setting: remove it; known here are method, path, batchId, percentComplete, results, reference, retail, retailLow, retailHigh, wholesale, wholesaleLow, wholesaleHigh, currency, error."
  `)
})

test('an unknown key, or one for another region, is reported at the rooftop', () => {
  const text = `keys:
  north: { value: key-of-north, kind: partner, region: US }
rooftops:
  - { uid: u1, name: A, key: nort, timezone: UTC, currency: AUD }
  - { uid: u2, name: B, key: somewhere, timezone: UTC, currency: AUD }
  - { uid: u3, name: C, key: north, region: AU, timezone: UTC, currency: AUD }
`

  expect(problemsOf(text)).toEqual([
    'forecourt.yaml:4: rooftops[0].key names a key that is not under keys (did you mean north?): correct it, or add the key there.',
    'forecourt.yaml:5: rooftops[1].key names a key that is not under keys (known: north): correct it, or add the key there.',
    'forecourt.yaml:6: rooftops[2].region is AU, but its key north is for US: correct one [A §5].',
  ])
})

test('the same rooftop twice, and a dedicated key for two rooftops, are errors', () => {
  const text = `keys:
  p: { value: key-of-p, kind: partner, region: AU }
  d: { value: key-of-d, kind: dedicated, region: AU }
rooftops:
  - { uid: u1, name: A, key: p, timezone: UTC, currency: AUD }
  - { uid: u1, name: B, key: p, timezone: UTC, currency: AUD }
  - { uid: u2, name: C, key: d, timezone: UTC, currency: AUD }
  - { uid: u3, name: D, key: d, timezone: UTC, currency: AUD }
`

  expect(problemsOf(text)).toEqual([
    'forecourt.yaml:6: rooftops[1].uid is listed twice: list every rooftop once.',
    'forecourt.yaml:8: rooftops[3].key names a dedicated key that another rooftop uses: such a key is for one rooftop [A §5].',
  ])
})

const noZones = [
  ...['Australia/Sidney', '+10:00', '', 'AEST time', 'AET', 'CST', 'EST', 'Japan'],
  ...['US/Pacific-New', 'SystemV/PST8PDT'],
]

test.for(noZones)('%j is not a time zone', (zone) => {
  const text = oneRooftop.replace('Australia/Sydney', `"${zone}"`)

  expect(problemsOf(text)).toEqual([
    'forecourt.yaml:7: rooftops[0].timezone is not an IANA time zone, e.g. Australia/Sydney: correct it.',
  ])
})

test('two rooftops with the same key and dealerId are reported at both lines', () => {
  const text = `keys:
  p: { value: key-of-p, kind: partner, region: AU }
  q: { value: key-of-q, kind: partner, region: AU }
rooftops:
  - { uid: u1, name: A, dealerId: 101, key: p, timezone: UTC, currency: AUD }
  - { uid: u2, name: B, dealerId: 101, key: q, timezone: UTC, currency: AUD }
  - { uid: u3, name: C, dealerId: "$\{D}", key: p, timezone: UTC, currency: AUD }
  - { uid: u4, name: D, key: p, timezone: UTC, currency: AUD }
  - { uid: u5, name: E, key: p, timezone: UTC, currency: AUD }
`

  expect(problemsOf(text, { D: '101' })).toEqual([
    'forecourt.yaml:5: rooftops[0].dealerId is also that of rooftops[2], with the same key: each has its own [A §4 /getevallist], so correct one.',
    'forecourt.yaml:7: rooftops[2].dealerId is also that of rooftops[0], with the same key: each has its own [A §4 /getevallist], so correct one.',
  ])
})

test.for(['http://127.0.0.1:4010', 'https://h/v2', 'https://h/v1/x', 'https://h/v1?a=/v1'])(
  '%j does not end in /v1',
  (address) => {
    expect(problemsOf(`appraisal: { baseUrl: "${address}" }`)).toEqual([
      'forecourt.yaml:1: appraisal.baseUrl does not end in /v1: write the address with it, e.g. https://host/v1.',
    ])
  },
)

test('a slash at the end of the base URL is removed', () => {
  const { appraisal } = configOf('appraisal: { baseUrl: "https://h/api/v1/" }')

  expect(appraisal.baseUrl).toBe('https://h/api/v1')
})

test.for(['AUX', 'aud', 'Dollar', ''])('%j is not a currency', (currency) => {
  expect(problemsOf(oneRooftop.replace('currency: AUD', `currency: "${currency}"`))).toEqual([
    'forecourt.yaml:8: rooftops[0].currency is not an ISO 4217 code, e.g. AUD: correct it.',
  ])
})

test('a uid that YAML reads as a number must be quoted, or it loses its zeros', () => {
  expect(problemsOf(oneRooftop.replace('u1', '0012'))).toEqual([
    'forecourt.yaml:4: rooftops[0].uid must be text: put it in quotes.',
  ])
})

test('a missing setting is reported at the line of its group', () => {
  expect(problemsOf(oneRooftop.replace('    timezone: Australia/Sydney\n', ''))).toEqual([
    'forecourt.yaml:4: rooftops[0].timezone is missing: add it.',
  ])
})

test('a key that is not a valid HTTP header is refused without being shown', () => {
  for (const key of ['line\nend', 'clé…', 'space '])
    expect(problemsOf(oneRooftop.replace('key-of-the-dealer', '$' + '{K}'), { K: key })).toEqual([
      'forecourt.yaml:2: keys.a.value begins or ends with a space or has a line end or another character that an HTTP header cannot have: correct it.',
    ])
})

test('no secret is in any message', () => {
  const secret = 'secret-word'
  const text = `vehicleData: { apiKey: [${secret}] }
warehouse: { url: "mysql://u:${secret}@h/d" }
keys:
  a: { value: { ${secret}: 1 }, kind: ${secret}, region: "$\{K}", user: 1 }
webhooks: { authHeaderName: "${secret} x", authHeaderValue: 12, publicUrl: ${secret} }
`

  const problems = problemsOf(text, { K: secret })

  expect(problems).toHaveLength(9)
  expect(problems.join('\n')).not.toContain(secret)
})

test('passwords of a warehouse url are secrets in every form', () => {
  const url = 'postgres://u:p%40ssword@h/d?password=other-word'

  expect(listSecrets(configOf(`warehouse: { url: "${url}" }`))).toEqual([
    'p%40ssword',
    'other-word',
    'p@ssword',
    'other-word',
  ])
  expect(listSecrets(configOf('warehouse: { url: "postgres://u:100%word@h/d" }'))).toContain(
    '100%word',
  )
})

test('anchors and merge keys work', () => {
  const text = `keys: { a: { value: key-of-a, kind: partner, region: AU } }
rooftops:
  - &first { uid: u1, name: A, key: a, timezone: UTC, currency: AUD }
  - { <<: *first, uid: u2 }
`

  expect(configOf(text).rooftops.map(({ uid, name }) => `${uid} ${name}`)).toEqual(['u1 A', 'u2 A'])
})

test('a proxy is an address or a range', () => {
  const known = ['127.0.0.1', '::1', '10.0.0.0/8', 'fd00::/8', '203.0.113.9/32']
  const wrong = [
    'proxy.example',
    '10.0.0.0/33',
    '0.0.0.0/0',
    '10.0.0.0/8/8',
    'fe80::1%eth0',
    '10.0.0',
  ]
  const text = (list: readonly string[]) => `serve: { trustedProxies: ${JSON.stringify(list)} }\n`

  expect(configOf(text(known)).serve.trustedProxies).toEqual(known)
  expect(problemsOf(text(wrong))).toHaveLength(wrong.length)
  expect(problemsOf(text(wrong))[0]).toBe(
    'forecourt.yaml:1: serve.trustedProxies[0] is not an IP address or a range of them, e.g. 10.0.0.5 or 10.0.0.0/8: correct it.',
  )
})

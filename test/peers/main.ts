// npm run peers: Forecourt and what could be used instead, through the same nights; prints a table for each case.
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { errorText } from '#src/errors.ts'
import { type Case, cases, type Figures } from './cases.ts'
import { openCourse } from './course.ts'
import { findPeers, type Peer } from './peers.ts'
import { type CourseResults, publish } from './publish.ts'
import { caseTable, type PeerResult } from './table.ts'

const { values } = parseArgs({
  options: {
    /** Only these cases, and those whose names begin so. */
    case: { type: 'string', multiple: true, default: [] },
    /** Only these peers. */
    peer: { type: 'string', multiple: true, default: [] },
    /** Evaluations of a first load; other cases take a share of it. */
    size: { type: 'string', default: '20000' },
    /** Runs of each timed case. */
    repeat: { type: 'string', default: '3' },
    /** Gets everything that was measured. */
    json: { type: 'string' },
    /** Measures nothing: writes results.md and results.svg from files that --json has written. */
    publish: { type: 'string', multiple: true },
  },
})
if (values.publish !== undefined) {
  publish(values.publish.map((file) => JSON.parse(readFileSync(file, 'utf8'))))
  process.exit(0)
}
const [size, repeat] = [Number(values.size), Number(values.repeat)]
if (values.json !== undefined) writeFileSync(values.json, '')
const wanted = cases.filter(
  ({ name }) =>
    values.case.length === 0 ||
    values.case.some((one) => name === one || name.startsWith(`${one}-`)),
)
const peers = await findPeers(values.peer)
if (wanted.length === 0 || peers.length === 0) {
  console.error(`No such case or peer. Cases: ${cases.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}

// Its processes end with it.
process.on('SIGINT', () => process.exit(130))
await using course = await openCourse()
const reasons = new Map<string, string>()
const setUpSeconds = new Map<string, number>()
for (const peer of peers) {
  const reason = peer.reason ?? (await tryOut(peer))
  if (reason !== null) reasons.set(peer.name, reason)
}
const results: CourseResults['results'][number][] = []
for (const one of wanted) {
  const runs = await runCase(one)
  results.push({ name: one.name, what: one.what, peers: runs })
  console.log(`\n### ${one.name}: ${one.what}\n\n${caseTable(runs)}`)
  save()
}
console.log(`\n${caseTable(peers.map((peer) => lines(peer)))}`)

/** Every peer in turn, and in another order in each round. */
async function runCase(one: Case): Promise<PeerResult[]> {
  const figures = new Map<string, Figures[]>(peers.map(({ name }) => [name, []]))
  for (let round = 0; round < (one.once ? 1 : repeat); round += 1)
    for (let at = 0; at < peers.length; at += 1) {
      const peer = peers[(at + round) % peers.length]!
      if (reasons.has(peer.name)) continue
      console.error(`${one.name}: ${peer.name}, round ${round + 1}`)
      const newRun = () => course.run(peer, one.plan(size))
      const run = await one
        .measure(newRun, size)
        .catch((error: unknown) => ({ failed: errorText(error) }))
      figures.get(peer.name)!.push(run)
    }
  return peers.map(({ name }) => ({
    ...{ peer: name, runs: figures.get(name)!, reason: reasons.get(name) ?? null },
  }))
}

/** Why a peer cannot load ten evaluations; null: it can. It also fills the caches of compiled code. */
async function tryOut(peer: Peer): Promise<string | null> {
  const plan = { rooftops: 2, evaluations: 10, days: 14, keys: 'one', nights: 1 } as const
  try {
    await using run = await course.run(peer, plan)
    await run.open(0)
    setUpSeconds.set(peer.name, (await run.setUp())?.seconds ?? 0)
    const { exit, log } = await run.night()
    const { missing, extra, stale, doubled, examples } = await run.compare()
    if (exit === 0 && missing + extra + stale + doubled === 0) return null
    return `exit ${exit}; ${examples.join('; ')} ${log.slice(-1000).replaceAll(/\s+/g, ' ')}`
  } catch (error) {
    return errorText(error)
  }
}

function lines({ name, userLines }: Peer): PeerResult {
  const setUp = setUpSeconds.get(name) ?? null
  const run = { 'lines that a user writes': userLines, 'seconds to set up': setUp }
  return { peer: name, runs: [run], reason: null }
}

function save(): void {
  if (values.json === undefined) return
  const machine = {
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
  }
  const userLines = Object.fromEntries(peers.map((peer) => [peer.name, peer.userLines]))
  const document: CourseResults = {
    at: new Date().toISOString(),
    size,
    repeat,
    machine,
    userLines,
    results,
  }
  writeFileSync(values.json, `${JSON.stringify(document, null, 2)}\n`)
}

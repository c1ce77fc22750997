import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { plural } from '#src/values/text.ts'
import { bars } from '#src/web/console/charts/bars.ts'
import { median } from '../bench/bench-case.ts'
import { pictureOf } from '../support/picture.ts'
import { cases } from './cases.ts'
import { caseTable, type PeerResult } from './table.ts'

/** What a run of the course found, as `--json` writes it. */
export interface CourseResults {
  readonly at: string
  readonly size: number
  readonly repeat: number
  readonly machine: { readonly node: string; readonly cpu: string; readonly cores: number }
  readonly userLines: Readonly<Record<string, number>>
  readonly results: readonly CaseResult[]
}

interface CaseResult {
  readonly name: string
  readonly what: string
  readonly peers: readonly PeerResult[]
}

const folder = import.meta.dirname

/** Writes the page and the picture of the results. Of a peer that several runs have in a case, the last one counts. */
export function publish(runs: readonly CourseResults[]): void {
  const found = new Map<string, CaseResult & { readonly size: number }>()
  for (const { results, size } of runs)
    for (const one of results) {
      const before = (found.get(one.name)?.peers ?? []).filter(
        ({ peer }) => !one.peers.some((other) => other.peer === peer),
      )
      const peers = [...before, ...one.peers].sort((a, b) => a.peer.localeCompare(b.peer))
      found.set(one.name, { ...one, peers, size })
    }
  const written = Object.assign({}, ...runs.map(({ userLines }) => userLines))
  const userLines = Object.entries<number>(written).map(([peer, count]) => ({
    ...{ peer, runs: [{ 'lines that a user writes': count }], reason: null },
  }))
  const sections = [...found.values()].map(
    ({ name, what, peers, size }) =>
      `## ${name}\n\n${what} (\`--size ${size}\`, ${rounds(peers)})\n\n${caseTable(peers, { isCounted: isCounted.has(name) })}`,
  )
  const { at, machine } = runs[0]!
  const page = [
    '# Results',
    '![Seconds of each tool for a first load and for nights, on a logarithmic scale](results.svg)',
    `${at.slice(0, 10)}, ${machine.cores} cores (${machine.cpu}), Node.js ${machine.node}, ${versions().join(', ')}. ` +
      'Median, and in brackets the least and the greatest. The [columns](README.md#what-is-measured) and the [cases](README.md#cases) are explained on the page before.',
    ...sections,
    `## What a user writes\n\n${caseTable(userLines)}`,
  ]
  writeFileSync(join(folder, 'results.md'), `${page.join('\n\n')}\n`)
  writeFileSync(join(folder, 'results.svg'), secondsPicture([...found.values()]))
}

/** `3 rounds; airbyte: 1`. */
function rounds(peers: readonly PeerResult[]): string {
  const all = Math.max(...peers.map(({ runs }) => runs.length))
  const fewer = peers.filter(({ runs }) => runs.length < all)
  return [plural(all, 'round'), ...fewer.map(({ peer, runs }) => `${peer}: ${runs.length}`)].join(
    '; ',
  )
}

/** The pinned packages of all peers. */
function versions(): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /requirements[^/]*\.txt$/.test(file))
    .flatMap((file) => readFileSync(join(folder, file), 'utf8').trim().split('\n'))
    .map((line) => line.replace('==', ' '))
}

/** Measured once, so without times. */
const isCounted = new Set(cases.filter(({ once }) => once).map(({ name }) => name))
const drawn = ['first-load', 'first-load-100ms', 'night', 'empty-night']

function secondsPicture(results: readonly CaseResult[]): string {
  const cases = drawn.flatMap((name) => results.filter((one) => one.name === name))
  const names = cases[0]?.peers.map(({ peer }) => peer) ?? []
  const seconds = (one: CaseResult, name: string) => {
    const found = one.peers.find(({ peer }) => peer === name)!.runs.map((run) => run['seconds'])
    return found.length === 0 ? null : median(found.map(Number))
  }
  const chart = bars({
    ...{ title: 'Seconds until the command has ended', of: 'case', unit: 's', kind: 'log' },
    categories: cases.map(({ name }) => name),
    series: names.map((name) => ({ name, values: cases.map((one) => seconds(one, name)) })),
  })
  return pictureOf(chart, 'less is better; on a logarithmic scale')
}

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { plural } from '#src/values/text.ts'
import { bars } from '#src/web/console/charts/bars.ts'
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

/** Writes the page and the picture of the results. Cases that these runs do not have stay as they are. Of a peer that several runs have in a
 *  case, the last one counts. */
export function publish(runs: readonly CourseResults[]): void {
  const found = new Map<string, CaseResult>()
  const sections = readSections()
  for (const { at, machine, size, results } of runs)
    for (const one of results) {
      const before = (found.get(one.name)?.peers ?? []).filter(
        ({ peer }) => !one.peers.some((other) => other.peer === peer),
      )
      const peers = [...before, ...one.peers].sort((a, b) => a.peer.localeCompare(b.peer))
      found.set(one.name, { ...one, peers })
      const when = `${at.slice(0, 10)}, ${machine.cores} cores (${machine.cpu}), Node.js ${machine.node}`
      const how = `\`--size ${size}\`, ${rounds(peers)}; ${when}`
      const table = caseTable(peers, { isCounted: isCounted.has(one.name) })
      sections.set(one.name, `${one.what} (${how})\n\n${table}\n`)
    }
  const written = Object.assign({}, ...runs.map(({ userLines }) => userLines))
  const userLines = Object.entries<number>(written).map(([peer, count]) => ({
    ...{ peer, runs: [{ 'lines that a user writes': count }], reason: null },
  }))
  sections.set(linesTitle, `${caseTable(userLines)}\n`)
  const ordered = [...cases.map(({ name }) => name), linesTitle].filter((name) =>
    sections.has(name),
  )
  const page = [
    '# Results\n',
    '![Seconds of each tool for a first load and for nights, on a logarithmic scale](results.svg)\n',
    `${versions().join(', ')}. Median, and in brackets the least and the greatest. The [columns](README.md#what-is-measured) and the [cases](README.md#cases) are explained on the page before.\n`,
    ...ordered.flatMap((name) => [`## ${name}\n`, sections.get(name)!]),
  ]
  writeFileSync(pageFile, page.join('\n'))
  writeFileSync(join(folder, 'results.svg'), secondsPicture(sections))
}

const pageFile = join(folder, 'results.md')
const linesTitle = 'What a user writes'

/** What the page says now, by title. */
function readSections(): Map<string, string> {
  const [, ...parts] = readFileSync(pageFile, 'utf8').split(/^## /m)
  return new Map(
    parts.map((part) => {
      const [title, ...lines] = part.trimEnd().split('\n')
      return [title!, `${lines.join('\n').trim()}\n`]
    }),
  )
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

function secondsPicture(sections: ReadonlyMap<string, string>): string {
  const shown = drawn.flatMap((name) => {
    const text = sections.get(name)
    if (text === undefined) return []
    const size = Number(/`--size (\d+)`/.exec(text)![1]).toLocaleString('en')
    return [{ name: `${name}, ${size}`, seconds: secondsIn(text) }]
  })
  const chart = bars({
    ...{ title: 'Seconds until the command has ended', of: 'case', unit: 's', kind: 'log' },
    categories: shown.map(({ name }) => name),
    series: [...shown[0]!.seconds.keys()].map((name) => ({
      name,
      values: shown.map(({ seconds }) => seconds.get(name) ?? null),
    })),
  })
  return pictureOf(chart, 'less is better; on a logarithmic scale')
}

/** The seconds of each peer in the table of a case. */
function secondsIn(section: string): Map<string, number> {
  const [head, , ...rows] = section
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
  const column = head!.indexOf('seconds')
  return new Map(
    rows.map((cells) => [cells[1]!, Number(cells[column]!.split(' ')[0]!.replaceAll(',', ''))]),
  )
}

import { createHash } from 'node:crypto'
import {
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { listOf, vehicles } from '../import-fixture.ts'

/** A file that is dropped, and what must become of it. */
export interface DroppedFile {
  readonly name: Buffer
  readonly content: Buffer
  readonly state: 'done' | 'failed'
  /** How a program writes it. */
  readonly written: 'at once' | 'renamed' | 'growing' | 'link'
}

const kinds = 10

/** The n-th of a mixture: lists of one vehicle each, duplicates of the one before, hostile names, and what is not a list. */
function droppedFile(index: number): DroppedFile {
  const list = (of: number) => Buffer.from(listOf(vehicles(1, of + 1)))
  const good = { content: list(index), state: 'done' } as const
  const name = (text: string) => Buffer.from(`${String(index).padStart(4, '0')}${text}`)
  switch (index % kinds) {
    case 1:
      return { ...good, content: list(index - 1), name: name(' again.csv'), written: 'at once' }
    case 2:
      return { ...good, name: name('.csv'), written: 'growing' }
    case 3:
      return { ...good, name: name('\nline; $(end).csv'), written: 'at once' }
    case 4:
      return {
        ...good,
        name: Buffer.concat([name(''), Buffer.from([0xe9, 0xff])]),
        written: 'at once',
      }
    case 5:
      return { ...good, name: name('.csv'), written: 'renamed' }
    case 6: {
      const picture = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, index & 255])
      return { content: picture, state: 'failed', name: name('.png'), written: 'at once' }
    }
    case 7:
      return {
        content: Buffer.from('/etc/passwd'),
        state: 'failed',
        name: name('.csv'),
        written: 'link',
      }
    case 8: {
      // A header of its own: what was learnt from the other lists does not answer for it.
      const list = listOf(vehicles(4, 90_000 + index * 4)).replace('Colour', 'Paint')
      const asked = Buffer.from(list.replaceAll(',2019,', ',2018/2019,'))
      return { content: asked, state: 'failed', name: name(' doubtful.csv'), written: 'at once' }
    }
    default:
      return { ...good, name: name(' مخزون.csv'), written: 'at once' }
  }
}

export function droppedFiles(count: number): DroppedFile[] {
  return Array.from({ length: count }, (_, index) => droppedFile(index))
}

/** Drops them in their order, the older the smaller the index. */
export async function dropAll(folder: string, files: readonly DroppedFile[]): Promise<void> {
  const begin = Date.now() / 1000 - 10_000
  for (const [index, { name, content, written }] of files.entries()) {
    const path = Buffer.concat([Buffer.from(`${folder}/`), name])
    const part = `${folder}/${index}.filepart`
    if (written === 'link') await symlink(content, path)
    else if (written === 'renamed') {
      await writeFile(part, content)
      await rename(part, path)
    } else if (written === 'growing') await grow(path, content)
    else await writeFile(path, content)
    if (written !== 'link') await utimes(path, begin + index, begin + index).catch(ignoreTaken)
  }
  await mkdir(join(folder, 'a folder.csv'))
}

/** A file that was taken meanwhile has no more need of a time. */
function ignoreTaken(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

async function grow(path: Buffer, content: Buffer): Promise<void> {
  const handle = await open(path, 'w')
  for (let at = 0; at < content.length; at += 40) {
    await handle.write(content.subarray(at, at + 40))
    await new Promise((done) => setTimeout(done, 20))
  }
  await handle.close()
}

const digestOf = (content: Buffer) => createHash('sha256').update(content).digest('hex')

/** What differs from: each file was imported exactly once or has a report that says why not, and nothing else is there. */
export async function dropDifferences(
  pool: pg.Pool,
  folder: string,
  dropped: readonly DroppedFile[],
): Promise<string[]> {
  const left = [
    ...(await readdir(folder)).filter(
      (name) => !/^(working|done|failed|\.forecourt-inbox|a folder\.csv)$/.test(name),
    ),
    ...(await readdir(join(folder, 'working'))),
  ]
  const found: string[] = []
  for (const state of ['done', 'failed'] as const) {
    const names = await readdir(join(folder, state))
    for (const name of names) {
      if (name.includes('.report.txt') || /\.part$/.test(name)) continue
      const path = join(folder, state, name)
      const index = Number(/^\d{8}-\d{6}-\d+-(\d{4})/.exec(name)?.[1] ?? -1)
      const file = dropped[index]
      const isLink = file?.written === 'link'
      const content = isLink ? file.content : await readFile(path)
      const isSame = file !== undefined && digestOf(content) === digestOf(file.content)
      found.push(
        `${index} ${state} ${isSame ? 'same' : 'OTHER'}${names.includes(`${name}.report.txt`) ? '' : ' NO REPORT'}`,
      )
    }
  }
  const wanted = dropped.map(({ state }, index) => `${index} ${state} same`)
  return [
    ...left.map((name) => `left: ${name}`),
    ...difference('missing', wanted, found),
    ...difference('surplus', found, wanted),
    ...(await importDifferences(pool, dropped)),
  ]
}

function difference(what: string, some: readonly string[], others: readonly string[]): string[] {
  const rest = [...others]
  return some.flatMap((text) => {
    const at = rest.indexOf(text)
    if (at < 0) return [`${what}: ${text}`]
    rest.splice(at, 1)
    return []
  })
}

/** Each content is imported once: its duplicate comes right after it. */
async function importDifferences(
  pool: pg.Pool,
  dropped: readonly DroppedFile[],
): Promise<string[]> {
  const good = dropped
    .filter(({ state }) => state === 'done')
    .map(({ content }) => digestOf(content))
  const { rows } = await pool.query<{ sha: string }>(
    "select encode(sha256, 'hex') as sha from core.stock_import",
  )
  const imports = rows.map(({ sha }) => sha)
  const wanted = [...new Set(good)]
  const { rows: counts } = await pool.query<{ units: number; open: number; files: number }>(
    `select (select count(*)::int from core.stock_unit) as units, count(*)::int as files,
       count(*) filter (where state not in ('done', 'failed'))::int as open from ops.stock_inbox_file`,
  )
  const { units, open: unfinished, files } = counts[0]!
  return [
    ...difference('not imported', wanted, imports),
    ...difference('imported again', imports, wanted),
    ...(units === wanted.length ? [] : [`${units} vehicles for ${wanted.length} lists`]),
    ...(unfinished === 0 ? [] : [`${unfinished} records are open`]),
    ...(files === dropped.length ? [] : [`${files} records for ${dropped.length} files`]),
  ]
}

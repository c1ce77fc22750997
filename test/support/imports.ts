import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** One import of a file of ours by another; paths from the top of the repository. */
export interface Import {
  readonly from: string
  readonly to: string
  /** Nothing of it is left when the program runs. */
  readonly isType: boolean
}

/** The text of every source file below src/ and jobs/, or other folders, by path. */
export async function readSources(
  folders: readonly string[] = ['src', 'jobs'],
): Promise<Map<string, string>> {
  const sources = new Map<string, string>()
  for (const folder of folders.filter((name) => existsSync(join(root, name))))
    for (const entry of await readdir(join(root, folder), { recursive: true, withFileTypes: true }))
      if (entry.isFile() && entry.name.endsWith('.ts')) {
        const path = join(entry.parentPath, entry.name)
        sources.set(relative(root, path), await readFile(path, 'utf8'))
      }
  return sources
}

const statement = /^(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm
const dynamic = /\bimport\(\s*'([^']+)'\s*\)/g

/** Every import of a file of ours, static or not. */
export function importsOf(sources: ReadonlyMap<string, string>): Import[] {
  return [...sources].flatMap(([from, text]) => {
    const found = [
      ...[...text.matchAll(statement)].map(([, type, name]) => ({ name, isType: Boolean(type) })),
      ...[...text.matchAll(dynamic)].map(([, name]) => ({ name, isType: false })),
    ]
    return found.flatMap(({ name = '', isType }) => {
      if (name.startsWith('#src/')) return [{ from, to: name.replace('#src/', 'src/'), isType }]
      return name.startsWith('.') ? [{ from, to: join(from, '..', name), isType }] : []
    })
  })
}

const definition =
  /^export (?:async )?(?:function\*?|const|let|class|interface|type) +([A-Za-z_$][\w$]*)/gm
const named = /^(?:import|export)\s[^'";]*?\{([^}]*)\}\s*from\s+'([^']+)'/gm

/** Exports of files below src/ that no other file imports, as `file name`. */
export function unusedExports(sources: ReadonlyMap<string, string>): string[] {
  const used = new Set<string>()
  const fileOf = (from: string, name: string) =>
    name.startsWith('#src/') ? name.replace('#src/', 'src/') : join(from, '..', name)
  const exportsOf = (path: string) =>
    [...(sources.get(path) ?? '').matchAll(definition)].map(([, name]) => name!)
  for (const [from, text] of sources) {
    for (const [, names = '', target = ''] of text.matchAll(named))
      for (const name of names.split(','))
        used.add(
          `${fileOf(from, target)} ${
            name
              .trim()
              .replace(/^type /, '')
              .split(' as ')[0]
          }`,
        )
    for (const [, target = ''] of text.matchAll(dynamic)) {
      const path = fileOf(from, target)
      for (const name of exportsOf(path))
        if (new RegExp(`\\b${name}\\b`).test(text)) used.add(`${path} ${name}`)
    }
  }
  return [...sources.keys()]
    .filter((path) => path.startsWith('src/'))
    .flatMap((path) => exportsOf(path).map((name) => `${path} ${name}`))
    .filter((one) => !used.has(one))
}

import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { findOperation } from '#src/api/contract/operations.ts'
import { parseConfig } from '#src/app/config/read.ts'
import { runInProcess } from './support/cli.ts'
import { pageTables, withTables } from './support/page-tables.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const pages = globSync(['*.md', '{jobs,sql,src,test}/**/*.md'], { cwd: root }).toSorted()
const textOf = (page: string) => readFileSync(join(root, page), 'utf8')
const readme = textOf('README.md')

test('the README is short: at most 180 lines and 9,300 characters', () => {
  expect(readme.split('\n').length).toBeLessThanOrEqual(180)
  expect(readme.length).toBeLessThanOrEqual(9_300)
})

test('the README shows the two commands that do all the set-up', () => {
  expect(readme).toContain('npm ci && npm run demo')
  expect(readme).toContain('npm ci && npm test')
})

test('the README names the Node.js that package.json takes, and no package needs a newer one', () => {
  const { packages } = JSON.parse(textOf('package-lock.json')) as {
    packages: Record<string, { engines?: { node?: string }; resolved?: string }>
  }
  // The newest 22 that a range asks for, where it takes any 22.
  const minorOf = (range = '') => Number(/(?:\^|>=)\s*22\.(\d+)/.exec(range)?.[1] ?? 0)
  const newer = Object.entries(packages).filter(([, { engines }]) => minorOf(engines?.node) > 22)

  expect(JSON.parse(textOf('package.json')).engines.node).toBe('^22.22 || ^24 || >=26')
  expect(packages['']!.engines!.node).toBe('^22.22 || ^24 || >=26')
  expect(readme).toContain('Node.js 22.22, 24, or 26 and newer')
  expect(newer).toEqual([])
  expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).toEqual([])
})

test('the README links every page, itself or through a page that it links', () => {
  const reached = new Set(['README.md'])
  for (const page of reached)
    for (const { file } of linksOf(page)) if (file.endsWith('.md')) reached.add(file)

  expect(pages.filter((page) => !reached.has(page))).toEqual([])
})

test('every link of every page leads to a file, and to a heading where it names one', () => {
  const broken = pages.flatMap((page) =>
    linksOf(page)
      .filter(({ file, anchor }) => {
        if (!existsSync(join(root, file))) return true
        return anchor !== undefined && !anchorsOf(file).includes(anchor)
      })
      .map(({ link }) => `${page}: ${link}`),
  )

  expect(broken).toEqual([])
})

test.each(Object.keys(pageTables))(
  'the tables of %s are made from the code (else: npm run pages)',
  (page) => {
    expect(withTables(page, textOf(page))).toBe(textOf(page))
  },
)

test('the pages name every report and every job', () => {
  const reports = globSync('sql/marts/*_rpt_*.sql', { cwd: root }).map(
    (file) => /rpt_\w+/.exec(file)![0],
  )
  const jobs = globSync('jobs/*.ts', { cwd: root }).map((file) => parse(file).name)

  for (const page of ['README.md', 'sql/marts/README.md'])
    expect(reports.filter((name) => !textOf(page).includes(`\`${name}\``))).toEqual([])
  expect(jobs.filter((name) => !textOf('jobs/README.md').includes(`| \`${name}\` |`))).toEqual([])
})

test('every script that a page names is in package.json', () => {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: object }
  const named = pages.flatMap((page) =>
    [...textOf(page).matchAll(/npm run (?:-s )?([\w:]+)/g)].map(([, name]) => name!),
  )

  expect(named.filter((name) => !(name in scripts))).toEqual([])
})

test('every config that a page shows is valid', () => {
  const configs = pages.flatMap((page) => blocksOf(page, 'yaml').map((text) => ({ page, text })))

  expect(configs.length).toBeGreaterThan(8)
  for (const { page, text } of configs) {
    const names = [...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name!)
    const variables = Object.fromEntries(
      names.map((name) => [
        name,
        name.endsWith('_URL') ? 'https://hooks.example.com/secret' : 'secret-of-the-test',
      ]),
    )
    const environment = {
      cwd: root,
      variables: {
        ...variables,
        DATABASE_URL: 'postgres://h/d',
        FORECOURT_MCP_URL: 'postgres://h/d',
      },
    }
    expect(() => parseConfig(text, page, environment), page).not.toThrow()
  }
})

test('every command that a page shows exists, with the options that it names', async () => {
  const lines = pages.flatMap((page) =>
    blocksOf(page, 'sh').flatMap((block) => forecourtLines(block).map((line) => ({ page, line }))),
  )

  expect(lines.length).toBeGreaterThan(50)
  const wrong: object[] = []
  for (const { page, line } of lines) {
    const words = line.split(/\s+/)
    const names = words.filter((word) => /^[a-zA-Z][\w-]*$/.test(word)).slice(0, 2)
    const { code, stdout } = await runInProcess([...names, '--help'], { cwd: root })
    const options = words.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0]!)
    const known = `${stdout}--config --json --log-level --quiet --no-progress --help --version`
    const unknown = options.filter((option) => !known.includes(option))
    const isKnown = code === 0 && stdout.startsWith(`Usage: forecourt ${names[0] ?? '['}`)
    if (!isKnown || unknown.length > 0) wrong.push({ page, line, isKnown, unknown })
  }
  expect(wrong).toEqual([])
})

test('every call of an operation that a page shows has the flags that it names', () => {
  const calls = pages
    .flatMap((page) => blocksOf(page, 'sh').flatMap(forecourtLines))
    .filter((line) => /^api [a-zA-Z]/.test(line) && !line.includes('--help'))

  expect(calls.length).toBeGreaterThan(10)
  for (const line of calls) {
    const operation = findOperation(line.split(' ')[1]!)
    const known = [...Object.keys(operation?.fields.shape ?? {}), 'rooftop', 'yes', 'file', 'wait']
    const used = [...line.matchAll(/--\w+/g)].map(([flag]) => flag)
    expect({ line, unknown: used.filter((flag) => !known.includes(flag.slice(2))) }).toEqual({
      line,
      unknown: [],
    })
    expect({ line, isAllowed: used.includes('--yes') }).toEqual({
      line,
      isAllowed: operation?.effect !== 'read',
    })
  }
})

interface Link {
  readonly link: string
  /** From the root of the repository. */
  readonly file: string
  readonly anchor: string | undefined
}

function linksOf(page: string): Link[] {
  const prose = textOf(page)
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .replaceAll(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^(https?|mailto):/.test(link))
    .map((link) => {
      const [path, anchor] = link.split('#')
      const file = path === '' ? page : join(dirname(page), path!)
      // Of a folder, GitHub shows the README.
      const index = join(file, 'README.md')
      return { link, file: existsSync(join(root, index)) ? index : file, anchor }
    })
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  return [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function blocksOf(page: string, language: string): string[] {
  return [...textOf(page).matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)]
    .filter(([, name]) => name === language)
    .map(([, , text]) => text!)
}

/** What follows the program's name on each line: without comments, with placeholders. */
function forecourtLines(block: string): string[] {
  return block
    .split(/\n|&&/)
    .map((line) => line.replace(/\s#.*/, '').trim())
    .flatMap((line) => /^(?:forecourt|npm run -s forecourt --) (.*)$/.exec(line)?.[1] ?? [])
}

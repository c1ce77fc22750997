import { type AnyPage, definePage } from '#src/web/console/page.ts'
import { readTargets, rowOf, type Target } from '../web/console/access-matrix.ts'
import type { ConsoleFixture } from '../web/console/console-fixture.ts'
import { recorded } from '../web/console/recorded.ts'
import { openTestPages } from '../web/console/test-pages.ts'

type Json = Record<string, unknown>

/** Addresses with an answer of another shape than the usual one. */
const others: Readonly<Record<string, readonly string[]>> = {
  '/drift': ['/drift?stream=evaluations&check=odometer'],
  '/search': ['/search?q=nothing'],
}

/** The usual addresses of a page. */
export function addressesOf(page: string, target: Target): readonly string[] {
  return [rowOf(page).path(target), ...(others[page] ?? [])]
}

/** The OpenAPI document of pages: what they read of an address, and the answers to the usual ones, whose names and types all others have. */
export async function consoleDocument(
  console: ConsoleFixture,
  pages: readonly AnyPage[],
  addresses: typeof addressesOf,
): Promise<Json> {
  const target = (await readTargets(console))[0]!
  const paths: Json = {}
  for (const page of pages) {
    const names = new Set<string>()
    const read: typeof page.read = (asked) =>
      page.read({ ...asked, query: recorded(asked.query, names) })
    await using served = await openTestPages(console, [definePage({ ...page, read })])
    const usual = addresses(page.path, target)
    const answers: Json[] = []
    for (const address of usual) {
      const { status, text } = await served.get(address, 'engineer', { accept: 'application/json' })
      if (status === 200) answers.push(JSON.parse(text) as Json)
    }
    const values = usual[0]!.split('?')[0]!.split('/')
    const inPath = page.path
      .split('/')
      .map((part, at) => ({ part, value: values[at]! }))
      .filter(({ part }) => part.startsWith(':'))
      .map(({ part, value }) => parameter(part.slice(1), 'path', decodeURIComponent(value)))
    paths[page.path.replaceAll(/:(\w+)/g, '{$1}')] = {
      get: {
        parameters: [...inPath, ...[...names].map((name) => parameter(name, 'query'))],
        responses: {
          200: jsonAnswer({
            anyOf: answers.map((one) => ({
              ...typeSchema(typeOf(one), [one]),
              ...(Array.isArray(one) ? {} : { required: Object.keys(one) }),
            })),
          }),
          303: { description: 'The address of what was found' },
          404: jsonAnswer({ type: 'object', required: ['error'] }),
        },
      },
    }
  }
  return { openapi: '3.1.0', info: { title: 'Console', version: '1' }, paths }
}

const jsonAnswer = (schema: Json) => ({
  description: '',
  content: { 'application/json': { schema } },
})

function parameter(name: string, place: 'path' | 'query', example?: string): Json {
  return {
    ...{ name, in: place, required: place === 'path', schema: { type: 'string', minLength: 1 } },
    ...(example === undefined ? {} : { example }),
  }
}

/** The types of values and of all within them; anything may be null, and a name that none of them has may hold anything. */
function schemaOf(values: readonly unknown[]): Json {
  const byType = Map.groupBy(values, typeOf)
  byType.delete('null')
  const types = [...byType].map(([type, found]) => typeSchema(type, found))
  return types.length === 0 ? {} : { anyOf: [{ type: 'null' }, ...types] }
}

const typeOf = (value: unknown) =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

function typeSchema(type: string, values: readonly unknown[]): Json {
  if (type === 'array') return { type, items: schemaOf(values.flat()) }
  if (type !== 'object') return { type }
  const entries = values.flatMap((one) => Object.entries(one as Json))
  const fields = [...Map.groupBy(entries, ([name]) => name)]
  const properties = fields.map(([name, all]) => [name, schemaOf(all.map(([, value]) => value))])
  return { type, properties: Object.fromEntries(properties) }
}

import fastify, { type InjectOptions } from 'fastify'
import { serveConsole } from '#src/web/console/console.ts'
import type { AnyPage } from '#src/web/console/page.ts'
import type { Answer, ConsoleFixture, Role } from './console-fixture.ts'

type Person = Exclude<Role, null>
type Got = Pick<Answer, 'status' | 'text'>

/** A console with pages of the test, on the warehouse of another. */
export interface TestPages extends AsyncDisposable {
  get(path: string, role: Person, headers?: Record<string, string>): Promise<Got>
  post(path: string, role: Person, action: string, headers?: Record<string, string>): Promise<Got>
}

export async function openTestPages(
  { context, cookie }: ConsoleFixture,
  pages: readonly AnyPage[],
): Promise<TestPages> {
  const app = fastify()
  await serveConsole(app, { context, pages })
  const ask = async (options: InjectOptions): Promise<Got> => {
    const { statusCode: status, body: text } = await app.inject(options)
    return { status, text }
  }
  return {
    get: async (path, role, headers = {}) =>
      await ask({
        url: `/console${path}`,
        headers: { accept: 'text/html', cookie: await cookie(role), ...headers },
      }),
    post: async (path, role, action, headers = {}) =>
      await ask({
        ...{ method: 'POST', url: `/console${path}`, payload: `action=${action}` },
        headers: {
          ...{ cookie: await cookie(role), 'sec-fetch-site': 'same-origin' },
          'content-type': 'application/x-www-form-urlencoded',
          ...headers,
        },
      }),
    [Symbol.asyncDispose]: async () => await app.close(),
  }
}

import { type Child, until } from '../../support/child.ts'
import { uploadForm } from '../../web/console/upload-fixture.ts'
import { aVehicle } from '../import-fixture.ts'
import { textRows, workbook } from '../workbook/make-workbook.ts'
import type { WatchFixture } from './watch-fixture.ts'

/** Reading it takes seconds. */
export function longList(rows = 50_000): Buffer {
  const header = ['Stock Number', 'VIN', 'Make', 'Model', 'Year', 'Odometer (km)', 'Price']
  const row = (at: number) => {
    const { stockNo, vin, km, price } = aVehicle(at)
    return [stockNo, vin, 'Toyota', 'Corolla', '2019', km, price]
  }
  const all = [header, ...Array.from({ length: rows }, (_, at) => row(at + 1))]
  return workbook({ sheets: [{ name: 'Stock', rows: textRows(all) }] })
}

export const consoleSettings = {
  publicUrl: 'https://forecourt.example.com',
  people: [{ email: 'kim@example.com', role: 'engineer' as const }],
}

export interface Serving {
  readonly child: Child
  readonly get: (path: string) => Promise<Response>
  readonly upload: (list: Buffer | string, name: string) => Promise<Response>
}

/** `forecourt serve` in a process of its own, and kim who is signed in. */
export async function startServing({ start, run }: WatchFixture): Promise<Serving> {
  const child = start(['serve', '--port', '0', '--log-level', 'debug'])
  const address = () => /listening on (http:[^"\s]+)/.exec(child.stderr())?.[1]
  await until(() => address() !== undefined)
  const { stdout } = await run(['console', 'link', '--json'])
  const link = new URL(JSON.parse(stdout).url).searchParams.get('link')!
  const send = async (path: string, body: FormData | URLSearchParams, cookie = '') =>
    await fetch(`${address()}/console${path}`, {
      method: 'POST',
      ...{ body, redirect: 'manual', headers: { cookie, 'sec-fetch-site': 'same-origin' } },
    })
  const signedIn = await send('/sign-in', new URLSearchParams({ link }))
  const cookie = signedIn.headers.getSetCookie()[0]!.split(';')[0]!
  return {
    child,
    get: async (path) => await fetch(`${address()}${path}`, { headers: { cookie } }),
    upload: async (list, name) => {
      const fields = { rooftop: 'north', mode: 'snapshot' }
      return await send('/stock/upload', uploadForm(list as Buffer, name, fields), cookie)
    },
  }
}

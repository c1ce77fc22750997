import { type AddressInfo, createServer, type Socket } from 'node:net'

/** Something that speaks enough of the Postgres protocol to report its version. */
export interface OldPostgres extends AsyncDisposable {
  readonly url: string
}

/** A server that accepts every login and says that it is Postgres 14. */
export async function oldPostgres(): Promise<OldPostgres> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket.on('error', () => undefined))
    serve(socket)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `postgres://someone:secret-word@127.0.0.1:${port}/dealers`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
}

function serve(socket: Socket): void {
  let pending = Buffer.alloc(0)
  let isStarted = false
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk])
    for (;;) {
      // The start-up message has no type byte.
      const head = isStarted ? 1 : 0
      if (pending.length < head + 4) return
      const end = head + pending.readInt32BE(head)
      if (pending.length < end) return
      const type = isStarted ? String.fromCharCode(pending[0]!) : 'start-up'
      pending = pending.subarray(end)
      isStarted = true
      const answer = answers[type]
      if (answer) socket.write(answer)
    }
  })
}

function message(type: string, ...parts: readonly (Buffer | string)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)),
  )
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}

const int16 = (value: number) => Buffer.from([value >> 8, value & 255])
const int32 = (value: number) => Buffer.concat([int16(value >> 16), int16(value & 65_535)])

function column(name: string): Buffer {
  const text = 25
  const parts = [int32(0), int16(0), int32(text), int16(65_535), int32(-1), int16(0)]
  return Buffer.concat([Buffer.from(`${name}\0`), ...parts])
}

const ready = message('Z', 'I')
const complete = message('C', 'SELECT 1\0')
const values = ['140011', '14.11'].map((text) =>
  Buffer.concat([int32(text.length), Buffer.from(text)]),
)
const versions = Buffer.concat([
  message('T', int16(2), column('number'), column('version')),
  message('D', int16(2), ...values),
  complete,
  ready,
])

const answers: Readonly<Record<string, Buffer>> = {
  'start-up': Buffer.concat([message('R', int32(0)), ready]),
  Q: versions,
  P: message('1'),
  B: message('2'),
  D: message('n'),
  E: complete,
  S: ready,
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { S3Client } from '#src/warehouse/store/s3-client.ts'
import { S3FileStore } from '#src/warehouse/store/s3-store.ts'
import { endsWithParent } from '../../support/child.ts'
import { type FaultProxy, openFaultProxy } from '../../support/fault-proxy.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** An S3 server with one bucket, behind a line that can be broken. */
export interface S3Store extends AsyncDisposable {
  readonly bucket: string
  /** Where the server has its files. */
  readonly directory: string
  readonly line: FaultProxy
  /** Settings that work. */
  readonly s3: {
    readonly endpoint: string
    readonly region: string
    readonly accessKeyId: string
    readonly secretAccessKey: string
  }
}

export async function openS3Store(): Promise<S3Store> {
  const home = await temporaryFolder()
  const directory = join(home.path, 's3')
  await mkdir(directory)
  const file = fileURLToPath(new URL('./s3-server.ts', import.meta.url))
  const flags = [...endsWithParent, '--openssl-legacy-provider']
  const server = spawn(process.execPath, [...flags, file, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [port] = await once(server.stdout, 'data')
  const line = await openFaultProxy(Number(port))
  return {
    ...{ bucket: 'analytics', directory, line },
    s3: {
      ...{ endpoint: `http://127.0.0.1:${line.port}`, region: 'us-east-1' },
      ...{ accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
    },
    [Symbol.asyncDispose]: async () => {
      await line[Symbol.asyncDispose]()
      server.kill()
      await once(server, 'exit')
      await home[Symbol.asyncDispose]()
    },
  }
}

/** The lake below the prefix `forecourt` of a store. */
export function targetOf({ s3, bucket }: Pick<S3Store, 's3' | 'bucket'>): S3FileStore {
  const address = { ...s3, bucket, sessionToken: null, pathStyle: null }
  return new S3FileStore(new S3Client(address, new AbortController().signal), 'forecourt')
}

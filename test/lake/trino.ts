import { execFile, spawn } from 'node:child_process'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePorts } from '../containers/free-ports.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)
const release = 'trino-server-476'
const neededJava = 24

/** The server with its plugin for Delta tables, installed once. Throws where that is not possible. */
export async function installTrino(cache: string): Promise<string> {
  await findJava()
  const server = join(cache, release)
  if ((await readdir(server).catch(() => [])).length > 0) return server
  const fetched = join(cache, `${release}-fetched`)
  const artifact = 'io.trino:trino-server:476:tar.gz'
  await rm(fetched, { recursive: true, force: true })
  await mkdir(fetched, { recursive: true })
  await run('mvn', [
    ...['-q', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${fetched}`],
  ])
  await run('tar', ['-xzf', join(fetched, `${release}.tar.gz`), '-C', fetched])
  const plugins = join(fetched, release, 'plugin')
  // Files of one plugin are links to those of others, so they are unpacked together.
  for (const plugin of await readdir(plugins))
    if (plugin !== 'delta-lake') await rm(join(plugins, plugin), { recursive: true })
  await rename(join(fetched, release), server)
  await rm(fetched, { recursive: true })
  return server
}

async function findJava(): Promise<string> {
  const folder = '/usr/lib/jvm'
  const installed = (await readdir(folder).catch(() => [])).map((name) => join(folder, name))
  for (const home of [process.env['JAVA_HOME'] ?? '', ...installed]) {
    const about = await readFile(join(home, 'release'), 'utf8').catch(() => '')
    if (Number(/^JAVA_VERSION="(\d+)/m.exec(about)?.[1]) >= neededJava)
      return join(home, 'bin/java')
  }
  throw new Error(`no Java ${neededJava} or later in JAVA_HOME or ${folder}`)
}

export interface Trino extends AsyncDisposable {
  readonly port: number
}

/** A server with an empty catalog `lake` over the folders of this machine. */
export async function startTrino(server: string): Promise<Trino> {
  const java = await findJava()
  const home = await temporaryFolder()
  const [port] = await freePorts(1)
  const address = `http://127.0.0.1:${port}`
  const file = async (name: string, lines: readonly string[]) => {
    await writeFile(join(home.path, name), lines.join('\n'))
    return join(home.path, name)
  }
  const config = await file('config.properties', [
    ...['coordinator=true', 'node-scheduler.include-coordinator=true', 'node.environment=test'],
    ...[`http-server.http.port=${port}`, `discovery.uri=${address}`],
    ...[`plugin.dir=${join(server, 'plugin')}`, `catalog.config-dir=${join(home.path, 'catalog')}`],
  ])
  await mkdir(join(home.path, 'catalog'))
  await file('catalog/lake.properties', [
    ...['connector.name=delta_lake', 'delta.register-table-procedure.enabled=true'],
    ...['hive.metastore=file', `hive.metastore.catalog.dir=local://${home.path}/metastore`],
    ...['fs.native-local.enabled=true', 'local.location=/'],
  ])
  const options = ['-Xmx2g', '--add-modules=jdk.incubator.vector', `-Dconfig=${config}`]
  const child = spawn(
    java,
    [...options, '-cp', join(server, 'lib/*'), 'io.trino.server.TrinoServer'],
    { cwd: home.path, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => {
      output = `${output}${piece}`.slice(-20_000)
    })
  const ended = new Promise((done) => child.on('close', done))
  const isReady = async () => {
    const info = await fetch(`${address}/v1/info`).catch(() => null)
    return info?.ok === true && ((await info.json()) as { starting: boolean }).starting === false
  }
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`Trino ended: ${output.slice(-3000)}`)
    await sleep(500)
  }
  return {
    port: port!,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await ended
      await home[Symbol.asyncDispose]()
    },
  }
}

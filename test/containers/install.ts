import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { installPackages } from '../support/install-packages.ts'
import { ensureBaseImages } from './base-images.ts'
import { describeEngine, type Engine, startEngine } from './engine.ts'
import { buildImage } from './image.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    engine: Engine
  }
}

const packages = [
  ...['podman', 'runc', 'netavark', 'aardvark-dns', 'iptables', 'buildah'],
  // catatonit holds the namespaces of a pod.
  ...['catatonit', 'debootstrap', 'docker-compose'],
]

/** Installs an engine, makes the base images, and builds the image of the Dockerfile. Removes all but the base images at the end. */
export default async function install(project: TestProject): Promise<() => Promise<void>> {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  installPackages(packages)
  const engine = describeEngine()
  const running = await startEngine(engine)
  try {
    await timed('base images', () => ensureBaseImages(engine, root))
    await timed('image', () => buildImage(engine, root))
  } catch (error) {
    await running[Symbol.asyncDispose]()
    throw error
  }
  project.provide('engine', engine)
  return async () => await running[Symbol.asyncDispose]()
}

async function timed(what: string, work: () => Promise<void>): Promise<void> {
  const from = performance.now()
  await work()
  console.log(`${what}: ${Math.round((performance.now() - from) / 1000)} s`)
}

import { fileURLToPath } from 'node:url'
import { startVitest } from 'vitest/node'
import { mutants } from './mutants.ts'

// Runs the tests of the learner once with each mutant, and prints how many of them failed.

const root = fileURLToPath(new URL('../../..', import.meta.url))
const projects = Object.entries(mutants).map(([name, { file, text, instead }]) => ({
  plugins: [
    {
      name: `mutant: ${name}`,
      enforce: 'pre' as const,
      transform(code: string, id: string) {
        if (!id.endsWith(`/src/api/learn/${file}`)) return null
        if (code.split(text).length !== 2) throw new Error(`${name}: not once in ${file}: ${text}`)
        return code.replace(text, instead)
      },
    },
  ],
  test: {
    name,
    include: ['test/api/learn/learn.test.ts'],
    // The services of the sandbox take longer than all hand-made traps.
    testNamePattern: /^(?!at no service)/,
    testTimeout: 60_000,
    fsModuleCache: false,
  },
}))
const vitest = await startVitest('test', [], {
  ...{ root, config: false, watch: false, reporters: [], maxWorkers: 2, projects },
})
const failed = Object.fromEntries(
  vitest.state.getTestModules().map((module) => {
    const states = [...module.children.allTests()].map((one) => one.result().state)
    return [module.project.name, states.filter((state) => state === 'failed').length]
  }),
)
console.log(`failed: ${JSON.stringify(failed)}`)
await vitest.close()
process.exit(0)

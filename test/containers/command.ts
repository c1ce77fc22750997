import { execFile } from 'node:child_process'

/** How a program ended, with what it wrote. */
export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface CommandOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  /** Seconds until it is killed; 600 unless given. */
  readonly seconds?: number
}

/** Runs a program to its end, whatever its exit code is. Throws when it cannot be started or is killed. */
export async function runCommand(
  [program, ...args]: readonly [string, ...string[]],
  { env = process.env, cwd = process.cwd(), seconds = 600 }: CommandOptions = {},
): Promise<Ended> {
  const options = { env, cwd, timeout: seconds * 1000, maxBuffer: 64 * 2 ** 20 }
  return await new Promise((resolve, reject) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code
      if (typeof code === 'number') return resolve({ code, stdout, stderr })
      const how = error?.killed === true ? `did not end within ${seconds} s` : error?.message
      reject(new Error(`${program} ${args.join(' ')}: ${how}\n${stdout}${stderr}`.trim()))
    })
  })
}

/** What a program writes to stdout. Throws when it fails, with all that it wrote. */
export async function outputOf(
  command: readonly [string, ...string[]],
  options: CommandOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await runCommand(command, options)
  if (code !== 0)
    throw new Error(`${command.join(' ')} ended with ${code}:\n${stdout}${stderr}`.trim())
  return stdout.trim()
}

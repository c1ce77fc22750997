import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * Stores compiled code (in a checkout also the stripped types), which halves the start. Node keys an entry by its own version, the
 * path and the content of a file, so that versions do not mix; a folder that cannot be written is not used.
 * The folder is the user's own: V8 runs what it finds there unchecked, and anyone can write to Node's default in /tmp.
 * NODE_COMPILE_CACHE names another, NODE_DISABLE_COMPILE_CACHE=1 turns it off.
 */
export function useCompileCache(): void {
  try {
    module.enableCompileCache(
      join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'forecourt'),
    )
  } catch {
    // A user without a home, as in some containers, has no cache.
  }
}

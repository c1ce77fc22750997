import { runsEveryCase } from '../support/cases.ts'
import { installPackages } from '../support/install-packages.ts'
import { isPackageHere, missingPackages, skipReason, type Tool, toolPackages } from './tools.ts'

/** Installs missing BI clients. Where that fails, it says which tools are skipped and why; in CI it fails. */
export default function install(): void {
  const tools = Object.keys(toolPackages) as Tool[]
  try {
    installPackages(tools.flatMap((tool) => missingPackages(tool, isPackageHere)))
  } catch (error) {
    if (runsEveryCase) throw error
  }
  const reasons = tools.flatMap((tool) => skipReason(tool) ?? [])
  for (const reason of reasons) console.warn(`Skipped: ${reason}`)
}

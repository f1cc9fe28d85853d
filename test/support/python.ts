import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { BASE_ENV } from './run.ts'
import { type Cleanup, ROOT } from './service.ts'
import { allOf, needs, toolPath } from './tools.ts'

/** Compiled modules, outside the folders of the sources. */
const BYTECODE = join(ROOT, 'node_modules/.cache/python')

/** An interpreter with which tests run the package in python/. */
export interface Python {
  readonly path: string
  /** So that it finds the package. */
  readonly env: Readonly<Record<string, string>>
  readonly options: { readonly skip: string | false }
}

/**
 * The first interpreter that has some modules: `PYTHON`, Debian's, or the first of the PATH.
 * @param modules such as `pytest`; Debian's packages for them are `python3-…`
 */
export function pythonFor(...modules: readonly string[]): Python {
  const env = { PYTHONPATH: join(ROOT, 'python/src'), PYTHONPYCACHEPREFIX: BYTECODE }
  const options = needs('python3')
  if (options.skip !== false) return { path: 'python3', env, options }
  const candidates = [process.env.PYTHON, '/usr/bin/python3', toolPath('python3')]
  const path = candidates.find((each) => each && hasModules(each, modules))
  const missing = `no Python has ${modules.join(', ')} (Debian: ${modules.map((each) => `python3-${each}`).join(' ')})`
  return { path: path ?? 'python3', env, options: allOf(options, { skip: path ? false : missing }) }
}

function hasModules(path: string, modules: readonly string[]): boolean {
  try {
    execFileSync(path, ['-c', `import ${modules.join(', ')}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/**
 * Starts a site of python/tests/site.py.
 * @param args its kind, the service and what it accepts
 * @returns where it answers
 */
export async function startPythonSite(
  t: Cleanup,
  python: Pick<Python, 'path' | 'env'>,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const child = spawn(python.path, [join(ROOT, 'python/tests/site.py'), ...args], {
    env: { ...BASE_ENV, ...python.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  t.after(() => {
    child.stdin.end()
    return exited
  })
  const [address] = await once(child.stdout, 'data')
  return String(address).trim()
}

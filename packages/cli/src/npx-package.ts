import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const IN_NODE_MODULES = /^(.+)[/\\]node_modules[/\\]/
/** The path at which a service serves its packages. */
const SERVED = /^\/packages\/[^/]+\.tgz$/

/**
 * What `npx -y <package>` was given, if npx runs this script: npm notes it in the directory that it installs into.
 * @param script the path of the script that runs
 * @returns null if the script was started otherwise
 */
export function npxPackage(script: string): string | null {
  const root = IN_NODE_MODULES.exec(script)?.[1]
  if (root === undefined) return null
  try {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const [spec] = manifest._npx?.packages ?? []
    return typeof spec === 'string' ? spec : null
  } catch {
    return null
  }
}

/** The origin of the service that a package was loaded from, or null if it came from elsewhere. */
export function serviceOf(npxPackage: string | null): string | null {
  const url = npxPackage === null ? null : URL.parse(npxPackage)
  if (url === null || !/^https?:$/.test(url.protocol) || !SERVED.test(url.pathname)) return null
  return url.origin
}

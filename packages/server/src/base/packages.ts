import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { VERSION } from './version.ts'

/** Written by `npm run build`: the tarballs that the service serves. */
export const PACKAGES_DIR = join(import.meta.dirname, '../../dist/packages')

const IS_PUBLISHED = readIsPublished()

/**
 * The package of the command `countersign`, as npx takes it: the service's own, or the one of npm's registry once it is
 * published there (`PUBLISHED=1 npm run build`). It names the version, because npx keeps what it has loaded from a URL.
 */
export function cliPackage(baseUrl: string): string {
  return IS_PUBLISHED ? `countersign@${VERSION}` : `${baseUrl}/packages/countersign-${VERSION}.tgz`
}

/** A library's package as `npm install` takes it: the service's own, or the one of npm's registry. */
export function libraryPackage(name: 'sdk' | 'gateway', baseUrl: string): string {
  return IS_PUBLISHED
    ? `@countersign/${name}`
    : `${baseUrl}/packages/countersign-${name}-${VERSION}.tgz`
}

function readIsPublished(): boolean {
  const file = join(PACKAGES_DIR, 'published.json')
  return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')) === true
}

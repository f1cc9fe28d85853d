import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const PACKAGE = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//

/**
 * The licences of packages that are built into a bundle, which most of them want to be passed on.
 * @param modules paths of the bundle's modules
 * @returns an empty text if there are none
 * @throws Error if a package names no licence
 */
export function licencesOf(modules: readonly string[]): string {
  const directories = new Set<string>()
  for (const path of modules) {
    // Bundlers mark modules of their own with a null byte.
    const directory = PACKAGE.exec(path.replace(/^\0/, ''))?.[1]
    if (directory !== undefined && existsSync(join(directory, 'package.json')))
      directories.add(directory)
  }
  return [...directories]
    .toSorted()
    .map(describe)
    .join(`\n${'-'.repeat(80)}\n\n`)
}

function describe(directory: string): string {
  const { name, version, license } = JSON.parse(
    readFileSync(join(directory, 'package.json'), 'utf8'),
  )
  if (typeof license !== 'string') throw new Error(`${name} names no licence`)
  const [file] = globSync('{LICENSE,LICENCE,License,license}*', { cwd: directory })
  const text = file === undefined ? '' : `\n${readFileSync(join(directory, file), 'utf8').trim()}\n`
  return `${name} ${version}: ${license}\n${text}`
}

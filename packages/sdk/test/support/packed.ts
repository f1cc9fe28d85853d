import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, run, tempDir } from '../../../../test/support/service.ts'

const SDK = join(ROOT, 'packages/sdk')

/** The SDK as it is published, and a project that has installed it. */
export interface Packed {
  readonly tarball: string
  /** The project: `@countersign/sdk` and its dependencies, and no workspace. */
  readonly dir: string
  /** The files of the package. */
  readonly installed: string
}

/** Builds, packs and installs the SDK. */
export async function packSdk(t: { after(end: () => unknown): void }): Promise<Packed> {
  const dir = tempDir(t)
  const vite = join(ROOT, 'node_modules/vite/bin/vite.js')
  const dist = join(dir, 'dist')
  const options = ['--outDir', join(dist, 'lib'), '--emptyOutDir', '--logLevel', 'warn']
  await succeed(process.execPath, vite, 'build', SDK, ...options)
  await succeed('npm', 'pack', dist, '--pack-destination', dir)
  const tarball = join(dir, 'countersign-sdk-0.1.0.tgz')
  const installed = join(dir, 'node_modules/@countersign/sdk')
  mkdirSync(installed, { recursive: true })
  await succeed('tar', 'xzf', tarball, '-C', installed, '--strip-components=1')
  symlinkSync(join(ROOT, 'node_modules/@noble'), join(dir, 'node_modules/@noble'))
  const manifest = { type: 'module', dependencies: { '@countersign/sdk': '0.1.0' } }
  writeFileSync(join(dir, 'package.json'), JSON.stringify(manifest))
  return { tarball, dir, installed }
}

/** Runs a program that has to succeed. @returns what it printed */
export async function succeed(command: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, { HOME: process.env.HOME ?? '/tmp' })
  assert.equal(code, 0, `${command} ${args.join(' ')}\n${stdout}\n${stderr}`)
  return stdout
}

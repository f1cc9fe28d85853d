import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from './support/service.ts'

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly engines?: { readonly node?: string }; readonly optional?: boolean }>
  >
}

test('an example says which Node.js it needs: the newest that one of its packages asks for', () => {
  const locks = globSync('examples/*/package-lock.json', { cwd: ROOT })
  assert.ok(locks.length >= 7)
  for (const lock of locks) {
    const { packages }: Lock = JSON.parse(readFileSync(join(ROOT, lock), 'utf8'))
    const { '': own, ...dependencies } = packages
    const needed = Object.values(dependencies)
      .filter(({ optional }) => optional !== true)
      .map(({ engines }) => oldestOf(engines?.node))
    const oldest = oldestOf(own?.engines?.node)
    assert.ok(oldest >= Math.max(...needed), `${lock}: ${oldest} < ${Math.max(...needed)}`)
    const manifest = readFileSync(join(ROOT, lock, '../package.json'), 'utf8')
    assert.equal(JSON.parse(manifest).engines.node, own?.engines?.node, lock)
    const readme = readFileSync(join(ROOT, lock, '../README.md'), 'utf8')
    const [, printed] = /You need Node\.js (\d+(?:\.\d+)?) or later/.exec(readme) ?? []
    assert.equal(oldestOf(`>=${printed}`), oldest, `${lock}: the README says ${printed}`)
  }
})

/** The major version of `>=22.12.0`, and the minor one as thousandths; 0 for other ranges. */
function oldestOf(range = ''): number {
  const [, major = 0, minor = 0] = /^>=\s*(\d+)(?:\.(\d+))?[\d.]*$/.exec(range) ?? []
  return Number(major) + Number(minor) / 1000
}

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { VERSION } from '../packages/server/src/base/version.ts'
import { ROOT } from './support/service.ts'

const PAGES = ['*.md', 'docs/**/*.md', '{packages,examples}/*/README.md', '{python,go}/README.md']

test('the addresses of packages in the Markdown name the version of this release', () => {
  for (const page of globSync(PAGES, { cwd: ROOT })) {
    const text = readFileSync(join(ROOT, page), 'utf8')
    for (const [address, version] of text.matchAll(
      /\/packages\/countersign-(\d[\w.]*)(?:\.tgz|-py3)/g,
    ))
      assert.equal(version, VERSION, `${page}: ${address}`)
  }
})

test('all packages of the workspace have one version', () => {
  for (const manifest of globSync('packages/*/package.json', { cwd: ROOT })) {
    const { version } = JSON.parse(readFileSync(join(ROOT, manifest), 'utf8'))
    assert.equal(version, VERSION, manifest)
  }
})

test('the Python package has the version of this release', () => {
  const manifest = readFileSync(join(ROOT, 'python/pyproject.toml'), 'utf8')
  assert.equal(/^version = "(.*)"$/m.exec(manifest)?.[1], VERSION)
})

test('no page for users of a service loads a package of a name that anyone could register', () => {
  const pages = globSync(['docs/*.md', 'packages/*/README.md'], { cwd: ROOT })
  const printed = pages.flatMap((page) =>
    readFileSync(join(ROOT, page), 'utf8')
      .split('\n')
      .filter((line) => PRINTED.test(line) && !IN_A_CHECKOUT.test(line))
      .map((line) => `${page}: ${line}`),
  )
  assert.deepEqual(printed, [])
})

const PRINTED = /(npx|npm install|npm i|npm add|pip install) (-y )?(countersign|@countersign)/
/** What operators run in the checkout, in which npx finds the workspace's own commands. */
const IN_A_CHECKOUT = /npx countersignd[ `]|npx countersign-gateway |`npx countersign --help`/

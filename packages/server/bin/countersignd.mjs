#!/usr/bin/env node
import { existsSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'

// Plain JavaScript, so that an older Node prints this error instead of a syntax error for TypeScript.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 19)) {
  console.error(
    `countersignd needs Node.js 24.19 or later; this is ${process.version}. In a checkout, npm scripts and npx bring it.`,
  )
  process.exit(2)
}
// Compiled code is cached in the package for the next start, if it is writable. A directory shared by all users, such as
// /tmp, would let them inject code.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../.compile-cache')
module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
// The service releases it once its modules are loaded. Other commands would not.
if (process.argv[2] === 'serve') (await import('../src/base/new-space.ts')).holdNewSpace()
// The sources are 1,700 modules with their dependencies, and take much longer to start.
const built = new URL('../dist/program/main.js', import.meta.url)
await import(existsSync(built) ? built.href : '../src/main.ts')

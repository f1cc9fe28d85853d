#!/usr/bin/env node
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
// V8 reads its limits, and glibc its own, only when a process starts. Without them, memory grows for garbage that a service at rest
// does not have: 64 MiB for new objects, and an arena for each thread. What the operator has set stays.
const LIMIT = '--max-semi-space-size'
const isLimited = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((each) =>
  each.includes(LIMIT),
)
if (process.argv[2] === 'serve' && !isLimited && process.execve && !process.channel) {
  const node = [process.execPath, `${LIMIT}=4`, ...process.execArgv, ...process.argv.slice(1)]
  process.execve(process.execPath, node, { MALLOC_ARENA_MAX: '1', ...process.env })
}
// Compiled code is cached in the package for the next start, if it is writable. A directory shared by all users, such as
// /tmp, would let them inject code.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../.compile-cache')
module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
await import('../src/main.ts')

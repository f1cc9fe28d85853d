import { runCountersignd } from './cli/program.ts'

// Whatever a command makes is its owner's alone.
process.umask(0o077)
const exitCode = await runCountersignd(process.argv.slice(2))
if (exitCode !== 0) process.exitCode = exitCode

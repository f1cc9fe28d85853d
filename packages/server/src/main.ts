import { runCountersignd } from './service/cli/program.ts'

// Files that commands create are readable by their user only.
process.umask(0o077)
const exitCode = await runCountersignd(process.argv.slice(2), process)
if (exitCode !== 0) process.exitCode = exitCode

import { DatabaseSync, StatementSync } from 'node:sqlite'
import { type OperationName, open, operate } from './killable-operations.ts'

/* Does one operation and kills its own process with SIGKILL before the given statement of it. Arguments: the file, the operation,
 * the number of the statement. */

const [file = '', name = '', before = ''] = process.argv.slice(2)
const setup = await open(file)
let statements = 0
const count = () => {
  statements += 1
  if (statements === Number(before)) process.kill(process.pid, 'SIGKILL')
}
const methods: [object, string][] = [
  ...['all', 'get', 'run', 'iterate'].map((method): [object, string] => [
    StatementSync.prototype,
    method,
  ]),
  [DatabaseSync.prototype, 'exec'],
]
for (const [prototype, method] of methods) {
  const original = Reflect.get(prototype, method) as (...args: unknown[]) => unknown
  Reflect.set(prototype, method, function (this: unknown, ...args: unknown[]) {
    count()
    return original.apply(this, args)
  })
}
await operate(setup, name as OperationName)
console.log(statements)
process.exit(0)

import { readFileSync } from 'node:fs'
import { verdictsOf } from './verdicts.mjs'

console.log(await verdictsOf(readFileSync(process.argv[2], 'utf8').trim().split('\n')))

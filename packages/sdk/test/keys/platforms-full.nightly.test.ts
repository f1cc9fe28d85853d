import { sameVerdicts } from './support/same-verdicts.ts'

sameVerdicts(100_000)

import { randomKeyNames } from './random-key-names.ts'

randomKeyNames(10_000)

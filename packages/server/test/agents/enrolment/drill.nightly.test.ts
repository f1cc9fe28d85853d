import { drill } from './drill.ts'

drill(200)

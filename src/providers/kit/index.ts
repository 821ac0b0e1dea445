/*
 * The kit for adapters. The package exports it as `filmgate/provider`, and the contract, with the base of the simulators,
 * as `filmgate/provider/contract`.
 */
export { formatSize, type Shape, type Shapes, sizesOf } from '../../core/catalog.ts'
export { Problem } from '../../core/problem.ts'
export type { Json } from '../../core/task.ts'
export type * from '../provider.ts'
export * from './client.ts'
export * from './inline-video.ts'
export * from './parameters.ts'
export * from './responses.ts'

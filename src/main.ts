#!/usr/bin/env node
/** The program `polygate`. */

import { runCommandLine } from './cli/program.ts';

await runCommandLine(process.argv);

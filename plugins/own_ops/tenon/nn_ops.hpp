// Stands for the generated header where the shipped plugins are not built: its ops have handles
// alone.

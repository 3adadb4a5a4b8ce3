"""Result files of other tools into domain samples. Text in, values out."""

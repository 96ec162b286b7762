from pydantic import Field
